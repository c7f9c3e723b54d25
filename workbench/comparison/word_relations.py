"""Everyday English words that exclude each other or are kinds of each other, for comparing sentences.

By hand, from common vocabulary. Pairs are parted by `|`. Postures ("sit", "stand") are no opposites: two
sentences with them mostly tell of two people. Read by `everyday`.
"""

from __future__ import annotations

from typing import Final

OPPOSITES: Final = """
open close|open closed|open shut|full empty|empty crowded|asleep awake|sleep awake|rest run|stop start|
start end|begin end|stop run|stop continue|go stay|near far|far close|day night|morning evening|in out|
into out|on off|onto off|up down|over under|front behind|left right|indoors outdoors|inside outdoors|
indoors outside|add remove|put remove|pour remove|fold unfold|lock unlock|tie untie|zip unzip|load unload|
buy sell|push pull|lift drop|raise lower|rise fall|increase decrease|gain lose|win lose|succeed fail|
accept reject|accept refuse|agree disagree|approve reject|grant deny|allow forbid|allow deny|
permit prohibit|love hate|like dislike|laugh cry|smile frown|talk silent|speak silent|noisy quiet|
loud quiet|loud silent|follow shun|follow ignore|listen ignore|hit miss|strike miss|catch miss|catch drop|
clean dirty|wash dirty|wet dry|hot cold|warm cool|big small|tall short|long short|wide narrow|thick thin|
heavy light|fast slow|quick slow|quickly slowly|hard soft|hard easy|difficult easy|light dark|bright dark|
old young|old new|rich poor|strong weak|safe dangerous|safe unsafe|true false|right wrong|good bad|
best worst|better worse|happy sad|alive dead|live die|many few|all none|all no|always never|always rarely|
everyone nobody|everybody nobody|everything nothing|someone nobody|more less|most least|early late|
first last|before after|with without|above below|naked dress|naked wear|wear remove|alone together|
arrive leave|enter leave|enter exit|come go|mount dismount|build destroy|create destroy|attack defend|
attract repel|appear disappear|remember forget|remain leave|hire fire|import export|include exclude|
enable disable|activate deactivate|show hide|visible hidden|visible invisible|public private|public secret|
legal illegal|possible impossible|able unable|willing unwilling|necessary unnecessary|required optional|
mandatory optional|connect disconnect|attach detach|encourage discourage|support oppose|praise criticize|
success failure|pass fail|passes fails|valid invalid|safe vulnerable|sync async|synchronous asynchronous|
blocking nonblocking|manual automatic|manually automatically|ascending descending|uppercase lowercase|
internal external|static dynamic|local remote|local global|mutable immutable|lazy eager|lazily eagerly|
strict loose|strict lenient|singular plural|prefix suffix|prepend append|encrypt decrypt|
encrypted plaintext|online offline|stateful stateless|sequential parallel|sequentially parallel|
serial parallel|blacklist whitelist|merge rebase|squash rebase|tabs spaces|minimum maximum|at-least at-most|
verbose terse|verbose concise|implicit explicit|relative absolute|throw swallow|propagate swallow|
cached uncached|nullable required|keep delete|keep remove|keep discard|preserve discard|retain discard|
work break|works breaks|works fails|work fail|succeeds fails|present absent|present missing|exist missing|
exists missing|deprecated supported|stable unstable|stable volatile|stable flaky|reliable flaky|
reliable unreliable|thread-safe unsafe|single multiple|once repeatedly|top bottom|odd even|client server|
upgrade downgrade|stop keep|quit stay|skip run|omit include|float integer|signed unsigned|
inclusive exclusive|greedy lazy|one-way two-way|immobile swim|immobile move|still move|motionless move|
motionless run|drill close|eat fast|sink float|guilty innocent|peace war|friend enemy|ally enemy|
hero villain|polite rude|brave cowardly|blond dark|cheap expensive|rural urban|odd normal|common rare|
frequently rarely|often rarely|often seldom|usually rarely|sometimes never|ever never|yes no|
something nothing|take give|borrow lend|teach learn|on-top underneath|grip release|bury dig|cover uncover|
cover reveal|conceal reveal|hide reveal|wrap unwrap|pack unpack|plug unplug|button unbutton|tie loosen|
tighten loosen|fasten unfasten|fasten loosen|freeze melt|freeze thaw|heat cool|boil freeze|
ignite extinguish|light extinguish|inflate deflate|expand shrink|expand contract|stretch shrink|
multiply divide|double halve|lengthen shorten|widen narrow|deepen shallow|deep shallow|sharp blunt|
smooth rough|tight loose|straight curly|straight crooked|straight bent|curly straight|bald hairy|fat thin|
fat slim|shallow deep|steep flat|sober drunk|calm stormy|calm nervous|calm angry|awake unconscious|
conscious unconscious|sunny cloudy|sunny rainy|clear cloudy|sunny dark|winter summer|spring autumn|
north south|east west|dawn dusk|midnight noon|sunrise sunset|past future|ancient modern|old modern|
beginning ending|birth death|born dead|youth age|question answer|ask answer|send receive|lend return|
push drag|advance retreat|attack retreat|capture release|capture free|arrest release|imprison free|
convict acquit|guilty acquitted|blame forgive|punish forgive|punish reward|insult praise|insult compliment|
encourage deter|assist hinder|help hinder|help harm|aid hinder|heal wound|heal injure|cure sicken|
improve worsen|improve deteriorate|strengthen weaken|simplify complicate|clarify confuse|gather scatter|
collect scatter|unite divide|unite separate|join leave|join separate|combine separate|marry divorce|
meet avoid|greet ignore|attentive inattentive|listen speak|whisper shout|whisper yell|laugh weep|joy grief|
joyful sorrowful|cheerful gloomy|pleased displeased|satisfied dissatisfied|satisfied unhappy|
interested bored|excited bored|excited calm|generous stingy|kind cruel|gentle rough|honest dishonest|
loyal disloyal|humble proud|modest arrogant|patient impatient|careful careless|carefully carelessly|
careful reckless|carefully recklessly|cautious reckless|clever stupid|wise foolish|sane insane|
lawful unlawful|permitted forbidden|voluntary compulsory|voluntary mandatory|temporary permanent|
temporarily permanently|partial complete|partly completely|partially fully|complete incomplete|
finished unfinished|perfect flawed|exact approximate|exactly approximately|certain uncertain|sure unsure|
likely unlikely|probable improbable|known unknown|famous unknown|familiar unfamiliar|same different|
similar different|equal unequal|identical different|alike different|optimistic pessimistic|active passive|
active inactive|active idle|busy idle|occupied vacant|occupied empty|available unavailable|
accessible inaccessible|reversible irreversible|compatible incompatible|consistent inconsistent|
correct incorrect|accurate inaccurate|precise imprecise|relevant irrelevant|formal informal|direct indirect|
domestic foreign|native foreign|major minor|majority minority|senior junior|superior inferior|
maximum minimal|upstairs downstairs|uphill downhill|upward downward|upwards downwards|forward backward|
forwards backwards|upstream downstream|clockwise counterclockwise|horizontal vertical|inner outer|
interior exterior|front rear|upper lower|host guest|buyer seller|employer employee|winner loser|
victory defeat|success defeat|profit loss|income expense|supply demand|surplus deficit|surplus shortage|
wealth poverty|wealthy poor|credit debit|growth decline|boom slump|surge plunge|soar plunge|gain drop|
rise decline|higher lower|greater less|larger smaller|older younger|faster slower|longer shorter|
taller shorter|stronger weaker|warmer colder|richer poorer|sooner later|earlier later|major trivial|
important unimportant|important trivial|useful useless|helpful useless|harmful harmless|dangerous harmless|
poisonous edible|raw cooked|ripe unripe|fresh stale|fresh rotten|sweet sour|sweet bitter|hungry full|
thirsty hydrated|healthy sick|healthy unhealthy|fit unfit|well ill|pregnant barren|married single|
married divorced|widowed married|still moving|asleep alert|dressed undressed|dressed naked|shaved bearded|
clothed naked|lit unlit|lit dark|locked unlocked|broken intact|broken fixed|damaged intact|full half-empty|
packed deserted|crowded deserted|crowded vacant|inhabited uninhabited|inhabited deserted|confirm deny|
admit deny|acknowledge deny|affirm deny|prove disprove|believe disbelieve|trust distrust|doubt trust|
approve veto|approve disapprove|enact repeal|adopt repeal|impose lift|ratify reject|legalize ban|allow ban|
permit ban|hire dismiss|promote demote|elect defeat|appoint dismiss|launch cancel|continue cease|
continue end|remain change|stay depart|stay leave|arrive depart|land depart|ascend descend|climb descend|
board disembark|deposit withdraw|invest divest|earn spend|borrow repay|hoard spend|comply violate|
obey disobey|obey violate|respect violate|honor breach|fulfill breach|meet miss|protect harm|
protect endanger|save endanger|defend abandon|support undermine|rescue abandon|increase reduce|boost reduce|
maximize minimize|accelerate slow|accelerate decelerate|fill empty|fill drain|inhale exhale|tame wild|
apply remove|insert remove|insert extract|plant uproot|assemble dismantle|assemble disassemble|
construct demolish|mix separate|dress undress|cheer boo|applaud boo|win draw|serve receive|sunbathe swim|
dry soaked|clothed undressed|empty occupied|empty loaded|load empty|smooth wrinkled|frozen melted|
frozen hot|hot icy|grow wither|bloom wither|
"""

# Actions that undo each other: as orders they are steps, no contradiction.
STEPS: Final = """
add remove create destroy delete open close start stop begin end finish lock unlock mount dismount attach
detach connect disconnect push pull import export load unload upgrade downgrade show hide put take enter exit
leave arrive raise lower merge rebase save send receive lift drop install uninstall build encrypt decrypt
"""

# A specific word, then what it is a kind of. "No person runs" contradicts "a man runs".
KINDS: Final = """
man person|woman person|boy person|girl person|kid person|boy kid|girl kid|player person|worker person|
crowd person|rider person|biker person|cyclist person|hiker person|swimmer person|surfer person|
skater person|skateboarder person|dancer person|singer person|performer person|musician person|model person|
chef person|cook person|student person|teacher person|officer person|soldier person|doctor person|
surgeon person|group person|couple person|team person|family person|friend person|adult person|dog animal|
cat animal|puppy dog|horse animal|monkey animal|lion animal|tiger animal|rhino animal|bird animal|
fish animal|cow animal|elephant animal|panda animal|squirrel animal|mouse animal|car vehicle|truck vehicle|
jeep vehicle|bus vehicle|bike vehicle|motorbike vehicle|train vehicle|guitar instrument|flute instrument|
piano instrument|drum instrument|violin instrument|keyboard instrument|banana fruit|apple fruit|
carrot vegetable|onion vegetable|potato vegetable|tomato vegetable|cucumber vegetable|mushroom vegetable|
meat food|noodle food|fruit food|vegetable food|pizza food|bread food|rice food|sausage meat|chicken meat|
beef meat|pork meat|volleyball ball|football ball|baseball ball|pond water|pool water|sea water|river water|
lake water|fountain water|knife weapon|sword weapon|gun weapon|rose flower|plant tree|sand beach|veil dress|
suit clothes|shirt clothes|jacket clothes|hat clothes|slide play|strum play|trot ride|stroll move|walk move|
run move|swim move|jump move|dance move|climb move|ride move|whisper speak|shout speak|murder crime|
runner person|spectator person|police person|pupil person|teen person|teenager person|motorcyclist person|
bicyclist person|lad person|nurse person|guitarist person|drummer person|wrestler person|boxer person|
fighter person|climber person|juggler person|clown person|footballer person|cheerleader person|
snowboarder person|skier person|diver person|gymnast person|dalmatian dog|terrier dog|poodle dog|
retriever dog|collie dog|bulldog dog|dachshund dog|daschund dog|husky dog|labrador dog|kangaroo animal|
cheetah animal|hamster animal|rabbit animal|sheep animal|goat animal|pig animal|bear animal|lemur animal|
sloth animal|turtle animal|frog animal|snake animal|deer animal|fox animal|duck bird|parrot bird|eagle bird|
chicken bird|trumpet instrument|saxophone instrument|harp instrument|cello instrument|bass instrument|
harmonica instrument|bongo drum|ukulele guitar|banjo instrument|cymbal instrument|bicycle vehicle|
motorcycle vehicle|van vehicle|taxi vehicle|boat vehicle|kayak boat|canoe boat|raft boat|sailboat boat|
speedboat boat|helicopter aircraft|potato food|egg food|fish food|shrimp food|garlic vegetable|
pepper vegetable|broccoli vegetable|cabbage vegetable|celery vegetable|lettuce vegetable|eggplant vegetable|
zucchini vegetable|orange fruit|mango fruit|lemon fruit|pineapple fruit|kiwi fruit|strawberry fruit|
cheese food|butter food|cake food|tofu food|sandwich food|burger food|steak meat|bacon meat|ham meat|
ginger food|basketball ball|soccer sport|tennis sport|football sport|baseball sport|hockey sport|golf sport|
rugby sport|karate sport|boxing sport|wakeboard surf|skirt clothes|dress clothes|jersey clothes|
uniform clothes|sweater clothes|sprinkle put|pour put|spread put|drop put|mince cut|shred cut|carve cut|
saw cut|bake cook|boil cook|grill cook|steam cook|stab attack|kick hit|punch hit|slap hit|crawl move|
skate move|ski move|drive move|fly move|paddle move|sing perform|juggle perform|sprint move|jog move|
sail move|row move|slide move|roll move|hop jump|gallop run|chase run|tiptoe walk|bike move|surf ride|
kayak ride|drive ride|lick drink|gulp drink|nibble eat|bite eat|dine eat|chew eat|feed eat|toast cook|
saute cook|microwave cook|prepare cook|season cook|trim cut|smash break|shatter break|snap break|tear break|
tease bother|pull move|carry move|push move|lift move|hammer hit|bang hit|tap hit|knock hit|beat hit|
spar fight|wrestle fight|box fight|duel fight|pack put|insert put|load put|stack put|add put|lay put|
hang put|fit put|apply put|attach put|squeeze press|score kick|dribble play|rehearse play|juggle play|
tumble play|hold have|own have|hug hold|wear have|sit rest|lie rest|sleep rest|nap rest|recline rest|
crouch bend|kneel bend|squat bend|lean stand|glance look|peek look|examine look|inspect look|check look|
study look|shout talk|whisper talk|argue talk|discuss talk|lecture talk|explain talk|sing speak|laugh smile|
burn ignite|burn fire|torch burn|spray wet|rinse clean|scrub clean|wipe clean|sweep clean|mop clean|
vacuum clean|brush clean|paint color|draw make|build make|knit make|sew make|bake make|create make|
cook make|carve make|sculpt make|jetski boat|seadoo vehicle|scooter vehicle|tractor vehicle|
ambulance vehicle|wagon vehicle|cart vehicle|tank vehicle|suv car|convertible car|limousine car|racecar car|
pickup truck|ferry boat|yacht boat|barge boat|rowboat boat|jet aircraft|glider aircraft|balloon aircraft|
goalkeeper player|goalie player|footballer player|golfer player|pitcher player|batter player|
quarterback player|athlete person|sportsman person|actor person|actress person|artist person|painter person|
author person|writer person|lawyer person|judge person|president person|minister person|leader person|
manager person|employee person|farmer person|fisherman person|cowboy person|sailor person|pilot person|
driver person|passenger person|pedestrian person|tourist person|traveler person|visitor person|
customer person|neighbor person|mother woman|father man|grandmother woman|grandfather man|bride woman|
groom man|wife woman|husband man|sister girl|brother boy|daughter girl|son boy|queen woman|king man|
princess girl|prince boy|actress woman|waitress woman|waiter man|mom woman|dad man|aunt woman|uncle man|
audience group|band group|crowd group|team group|choir group|class group|orchestra band|puppy animal|
greyhound dog|beagle dog|spaniel dog|sheepdog dog|shepherd dog|pug dog|chihuahua dog|mutt dog|pony horse|
stallion horse|mare horse|foal horse|colt horse|zebra animal|donkey animal|mule animal|camel animal|
giraffe animal|wolf animal|ape animal|gorilla ape|chimpanzee ape|whale animal|dolphin animal|otter animal|
badger animal|raccoon animal|beaver animal|hedgehog animal|koala animal|leopard animal|jaguar animal|
puma animal|hippo animal|crocodile animal|alligator animal|lizard animal|insect animal|bee insect|
ant insect|butterfly insect|spider insect|beetle insect|rat animal|calf cow|bull cow|ox cow|lamb sheep|
ram sheep|ewe sheep|hen bird|rooster bird|goose bird|swan bird|owl bird|pigeon bird|crow bird|gull bird|
seagull bird|penguin bird|ostrich bird|hawk bird|falcon bird|turkey bird|peacock bird|prey animal|
shark fish|salmon fish|tuna fish|trout fish|goldfish fish|steak food|pasta food|soup food|salad food|
burrito food|taco food|tortilla bread|toast bread|bun bread|bagel bread|pie food|cookie food|candy food|
chocolate food|icecream food|cereal food|oatmeal food|bean vegetable|pea vegetable|corn vegetable|
spinach vegetable|leek vegetable|radish vegetable|pumpkin vegetable|asparagus vegetable|
cauliflower vegetable|beet vegetable|grape fruit|peach fruit|pear fruit|plum fruit|cherry fruit|melon fruit|
watermelon fruit|coconut fruit|lime fruit|berry fruit|blueberry berry|raspberry berry|avocado fruit|
lamb meat|veal meat|ham pork|bacon pork|milk drink|juice drink|coffee drink|tea drink|beer drink|wine drink|
soda drink|water drink|cola drink|wok pan|bowl container|bottle container|jar container|pot container|
cup container|bucket container|basket container|saucer plate|spoon utensil|fork utensil|knife utensil|
ladle utensil|spatula utensil|whisk utensil|chair furniture|table furniture|sofa furniture|bed furniture|
bench furniture|desk furniture|shelf furniture|hammer tool|saw tool|drill tool|shovel tool|rake tool|
axe tool|screwdriver tool|scissors tool|pistol weapon|rifle weapon|arrow weapon|spear weapon|machete knife|
kite toy|lego toy|frisbee toy|balloon toy|ball toy|shirt clothing|tshirt shirt|blouse shirt|coat clothes|
cloak clothes|cape clothes|robe clothes|gown dress|shorts clothes|jeans clothes|pants clothes|shoe clothes|
sandal shoe|glove clothes|scarf clothes|vest clothes|swimsuit clothes|helmet hat|hood hat|beret hat|
bonnet hat|crown hat|lipstick makeup|mascara makeup|eyeliner makeup|eyeshadow makeup|oak tree|pine tree|
palm tree|maple tree|bush plant|flower plant|grass plant|vine plant|tulip flower|lily flower|pond lake|
creek water|stream water|ocean water|wave water|puddle water|waterfall water|canal water|rain water|
hill land|mountain land|field land|meadow land|desert land|beach land|forest land|highway road|alley road|
lane road|avenue road|path road|bridge road|house building|church building|school building|tower building|
barn building|shed building|garage building|castle building|temple building|hut building|cabin building|
clarinet instrument|oboe instrument|tuba instrument|trombone instrument|accordion instrument|
mandolin guitar|bagpipe instrument|organ instrument|xylophone instrument|bugle instrument|basketball sport|
volleyball sport|cricket sport|polo sport|gymnastics sport|wrestling sport|judo sport|skiing sport|
camera device|computer device|phone device|laptop computer|tablet computer|radio device|television device|
teenager kid|teen kid|student kid|pupil kid|fire shoot|wakeboard ski|waterski ski|snowboard ski|sled ride|
skydive jump|snorkel swim|hum perform|strum perform|dance perform|knead press|crush press|mow cut|shave cut|
clip cut|sprinkle pour|drizzle pour|singer musician|guitarist musician|drummer musician|pianist musician|
violinist musician|vocalist musician|barber person|carpenter person|mechanic person|hunter person|
gardener person|butcher person|baker person|clerk person|vendor person|protester person|beggar person|
competitor person|coach person|referee person|senior person|victim person|prisoner person|guard person|
villager person|schoolgirl girl|schoolboy boy|businessman man|businesswoman woman|fireman man|policeman man|
policewoman woman|cowboy man|cowgirl woman|racket equipment|ball equipment|bat equipment|backpack bag|
purse bag|suitcase bag|pancake food|donut food|hamburger food|hotdog food|yogurt food|sauce food|dough food|
nut food|peanut nut|almond nut|walnut nut|herb plant|parsley herb|basil herb|cilantro herb|coriander herb|
ivy plant|cactus plant|microwave oven|blender device|mixer device|sandbox sand|
"""
