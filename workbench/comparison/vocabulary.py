"""Everyday English words that mean the same, and irregular forms, for comparing sentences.

By hand, from common vocabulary, field by field: people, animals, food, dress, motion, speech, trade. Groups
are parted by `|`; a word belongs to the first group that has it. Words that programmers use otherwise
("string", "queue", "file") are in no group of everyday life. Read by `everyday`.
"""

from __future__ import annotations

from typing import Final

SYNONYMS: Final = """
person people somebody someone anybody anyone human individual persons|
man guy bloke gentleman men guys blokes|woman lady female women ladies|boy lad|
kid child children toddler youngster infant baby|couple pair duo|boat ship vessel|bike bicycle cycle|
motorbike motorcycle|car automobile|airplane plane aircraft|rope cord|beach shore seashore|sea ocean|
river stream creek|path track trail|road street|shop store|rock boulder stone|forest wood woods|lawn grass|
little small tiny|big large huge|quick rapid fast|cut slice chop dice|hit strike|jump leap bounce|
throw hurl toss|fight battle|walk stroll pace hike march|run sprint jog race|play frolic|
mix stir blend amalgamate|cook fry roast|clean cleanse wash polish|place put set|break crack|
speak talk say chat|look stare gaze watch see view|gather group assemble|begin start commence|
end finish conclude|stop halt cease pause|buy purchase acquire|sell vend|get obtain receive gain|
give provide supply|show demonstrate display|help assist aid support|tell inform notify|
answer reply respond|ask request inquire|think believe consider|happen occur|fall drop decline decrease|
rise increase grow climb|near close nearby|outside outdoors|inside indoors|photo photograph picture|
couch sofa|doll toy|box container package|carefully cautiously|happy glad joyful|sad unhappy|
angry mad furious|scare frighten|kill murder slay|job work employment|money cash fund|
company firm corporation business|government administration|law legislation|choose select pick|
fix repair mend|change modify alter|keep retain preserve|need require|permit allow|
important significant crucial|difficult hard tough|easy simple|near-by close|correct right|wrong incorrect|
quiet silent mute|wear dress|hold carry grip|eat devour|drink sip|ride cycle|naked nude bare|
dirty muddy filthy|wet soaked|shirtless topless|alone lone|crowd audience|attempt try|achieve accomplish|
agree concur|aware conscious|remember recall recollect|fail failure|broken break|crash abort|
error exception failure|return yield|call invoke|fetch retrieve load|save store persist|log record|
timeout deadline|flaky intermittent unreliable|slow sluggish|mock stub fake|expect await|cause trigger|
skip bypass|push upload|pull download|delete remove erase drop|build compile|run execute launch|test spec|
function method routine|branch ref|commit checkin|comment annotation|secret credential|log logs|
endpoint route|message msg|commit commits|hound dog doggy pup|kitten kitty cat|bunny rabbit|
jeans pants trousers|spectacles glasses eyeglasses|cab taxi|spaghetti noodle pasta|pistol gun revolver|
pan skillet|meadow field pasture|yard garden backyard|sidewalk pavement|hill slope|mountain peak|
cliff ledge|whisk beat|spread smear|chew munch eat|snack food meal|doze nap sleep|grin smile|giggle laugh|
cry weep|hug embrace|clap applaud|draw sketch|phone telephone cellphone|paddle row|climb scale|pet stroke|
sew stitch|trim shave|drag pull haul|stage platform|spectator onlooker viewer bystander|
worker laborer employee|police officer policeman cop|soldier trooper|teacher instructor|pupil student|
bicyclist cyclist biker|runner jogger racer|swimmer bather|surfer surfboarder|skateboarder skater|
snowboarder boarder|trick stunt acrobatics|floor ground|rug carpet mat|window pane|stick branch twig|
racket racquet|mask disguise|costume outfit dress clothes clothing|jacket coat|cap hat|shoe boot sneaker|
glove mitten|huge enormous giant gigantic|middle center centre|colorful multicolored|elderly old aged|
attractive pretty beautiful|ugly hideous|crowded packed|empty vacant|filthy dirty|damp wet|chilly cold|
blond blonde|barefoot shoeless|hurriedly quickly|slowly leisurely|loudly noisily|silently quietly|
gently softly|happily joyfully cheerfully|exercise train workout|compete contest race|perform act|
practice rehearse|teach instruct|learn study|examine inspect check|observe look|ignore disregard|
discover find|search seek|chase pursue|escape flee|arrive reach|depart leave exit|bring fetch carry|
peel skin|grate shred|boil simmer|grill barbecue|tear rip|fold bend|tie bind knot|press push|pull tug|
lift raise hoist|lower drop|hang dangle suspend|float drift|dive plunge|splash spray squirt|drip leak|
burn blaze|explode blast|shine glow|announce declare unveil|report state|claim allege assert|deny refute|
accuse blame|sue charge|arrest detain|convict sentence|investigate probe|predict forecast expect|
estimate approximate|plan intend|agree consent|refuse decline reject|delay postpone|cancel abandon|
approve endorse|oppose resist|criticize condemn|praise commend|warn caution|threaten menace|attack assault|
defend protect guard|injure hurt wound|rescue save|automobile car auto sedan|lorry truck|chopper helicopter|
scooter moped|jetski seadoo waverunner|dinghy raft|quad atv|bonfire campfire fire|flame blaze|
stove cooker oven|pot saucepan|dish plate|cup mug|tin can|bag sack|purse handbag|suitcase luggage baggage|
basket hamper|cloth fabric|towel napkin|blanket quilt|curtain drape|sofa settee|chair seat|desk table|
cupboard cabinet closet|fridge refrigerator|tap faucet|bin trashcan|trash garbage rubbish litter waste|
rubbish junk|soil dirt earth|bush shrub|flower blossom|grain cereal|corn maize|capsicum bell-pepper|
shrimp prawn|cookie biscuit|fries chips|candy sweets sweet|soda pop cola coke|beverage drink|liquor alcohol|
beer ale lager|doctor physician medic|lawyer attorney solicitor|boss manager chief|leader head|
actor performer entertainer|artist painter|author writer|chef cook|cowboy rancher|farmer grower|
fisherman angler|goalkeeper goalie keeper|hiker backpacker trekker|kayaker canoeist paddler|
motorcyclist biker|sportsman athlete|referee umpire|priest clergyman minister|thief robber burglar|
prisoner inmate|enemy foe|friend buddy pal mate|husband spouse|mom mother mum mommy|dad father daddy|
grandma grandmother granny|grandpa grandfather|bride newlywed|guest visitor|neighbor neighbour|
customer client shopper buyer|seller vendor merchant|citizen resident inhabitant|immigrant migrant|
refugee exile|scholar academic|scientist researcher|expert specialist|beginner novice|
winner victor champion|loser defeated|hero heroine|crew team squad|gang mob|
race competition contest tournament|prize award trophy|medal award|song tune melody|keyboard piano|
drum bongo|violin fiddle|movie film|theater theatre|museum gallery|restaurant diner cafe eatery|hotel inn|
house home residence dwelling|apartment flat|building structure|room chamber|kitchen cookery|
bathroom restroom toilet|hall corridor hallway|roof rooftop|gate entrance doorway|fence barrier railing|
wall barricade|gun firearm shotgun rifle|knife blade dagger|hammer mallet|spade shovel|saw chainsaw|
screwdriver wrench|puddle pool|swamp marsh|island isle|desert dune|valley canyon|field pasture|
jungle rainforest|snow slush|rain drizzle|storm tempest|wind breeze|dusk sunset twilight|dawn sunrise|
noon midday|night nighttime|hammer bang pound knock|beat whip whisk|stir mix whisk|season spice|rinse wash|
wipe rub scrub|dig burrow excavate|plow plough|plant sow|aim point|touch feel tap|poke prod|
tease taunt annoy|scratch claw|bite nip|lick lap|swallow gulp|chew gnaw|nibble munch|dine eat|feed nourish|
uncover reveal expose|hide conceal|bury inter|glue paste stick|attach fasten secure|guide lead|
accompany escort|carry transport haul|ship deliver|travel journey trip|wander roam|creep crawl|sneak tiptoe|
stumble trip|slip slide|skid slide|hop skip|spin twirl rotate revolve whirl|roll tumble|flip somersault|
swing sway|shake tremble shiver|wave gesture|nod bow|kneel crouch squat|lean recline|sit perch|
rest relax lounge repose|lie recline|wake awaken|stare gaze glare|glance peek peep|check examine|
notice spot|listen hear|smell sniff|taste sample|shout yell scream cry|whisper murmur|mumble mutter|
argue quarrel dispute|discuss debate|explain clarify|describe depict portray|promise pledge vow|
invite summon|greet welcome|thank appreciate|apologize excuse|congratulate praise|blame fault|cheer applaud|
mock ridicule tease|paint draw|carve sculpt|photograph shoot|pose model|demolish destroy|ruin wreck|
damage harm|renovate restore|decorate adorn|measure gauge|weigh measure|count tally|calculate compute|
solve resolve|prove demonstrate|guess suppose|want desire wish|hope wish|prefer favor|enjoy like|adore love|
hate detest despise|fear dread|worry concern|envy covet|regret rue|doubt question|suspect distrust|
own possess|rent lease|lend loan|owe due|earn make|pay remit|waste squander|invest fund|donate contribute|
steal rob|cheat deceive trick|lie fib|punish penalize|pardon forgive|capture apprehend|elect vote|
nominate appoint|resign quit|retire withdraw|hire employ recruit|fire dismiss|promote advance|close shut|
expand enlarge|shrink reduce|soar surge|climb rise|double redouble|differ vary|resemble mimic|
include contain|comprise consist|exclude omit|involve entail|concern regard|affect influence|
prevent avert stop|hinder impede|avoid evade|encourage urge|persuade convince|force compel oblige|
request petition|offer propose|suggest recommend|advise counsel|hint imply|win triumph|defeat beat|
lose forfeit|surrender yield|survive outlive|perish die|born birth|swift quick|speedy fast|sluggish slow|
gigantic huge|broad wide|narrow slim|slender thin skinny|fat obese overweight|tall high|deep profound|
steep sheer|rough uneven|sharp pointed|blunt dull|shiny glossy|bright vivid|dim dark darkened|gloomy dark|
opaque cloudy|noisy loud|calm peaceful serene|busy hectic|lazy idle|tired exhausted weary|hungry starving|
thirsty parched|sick ill unwell|healthy fit|strong powerful|weak feeble|clever smart intelligent bright|
stupid dumb foolish|wise sage|strange odd weird peculiar|usual normal ordinary common|rare scarce|
famous renowned wellknown|unknown obscure|rich wealthy|poor needy|cheap inexpensive|expensive costly|
modern contemporary|ancient antique|former previous prior|next subsequent|final last|whole entire|
partial incomplete|total complete|sufficient enough adequate|excess surplus|similar alike|false untrue|
fake counterfeit|honest truthful|loyal faithful|cruel brutal|friendly amiable|hostile unfriendly|
brave courageous|afraid scared frightened fearful|proud arrogant|shy timid|calm composed|nervous anxious|
eager keen|bored uninterested|surprised amazed astonished|confused puzzled|certain sure|likely probable|
unlikely improbable|dangerous hazardous risky|harmless safe|harmful damaging|useful helpful|
useless worthless|minor trivial|attentive careful|outdoor outdoors|indoor indoors|sandy sand|grassy grass|
snowy snow|rocky rock|wooden wood|leafless bare|oriental asian|almost nearly|exactly precisely|
often frequently|seldom rarely|sometimes occasionally|immediately instantly|soon shortly|suddenly abruptly|
recently lately|previously earlier|finally eventually|together jointly|apart separately|
completely totally entirely fully|partly partially|mostly mainly largely|hardly barely|really truly|
probably likely|perhaps maybe|accident crash collision|disease illness sickness|injury wound|pain ache|
medicine drug medication|hospital clinic|battle combat|army military|weapon arm|bomb explosive|
treaty pact accord|crime offense|jail prison|court tribunal|trial hearing|ruling verdict decision|tax levy|
profit earnings gain|loss deficit|price cost|salary wage pay|debt liability|stock share|market bourse|
economy economics|trade commerce|industry sector|product goods|goal aim objective|purpose intent|
result outcome|effect consequence|problem issue trouble|solution answer|machine device|computer pc|
story tale|news information|book volume|magazine journal|newspaper daily|picture image|word term|
language tongue|amount quantity|part portion piece|group bunch cluster|center middle|area region|city town|
village hamlet|country nation|border frontier|world globe|earth planet|sky heaven|moment instant|year annum|
century hundred|child-care daycare|school academy|university college|exam quiz|grade mark|degree diploma|
homework assignment|makeup cosmetics cosmetic|lipstick gloss|necklace chain|crown tiara|cloak cape|
gown robe|stockings tights|swimsuit bikini bathing-suit|underwear lingerie|scarf shawl|belt strap|
pocket pouch|sunglasses shades|helmet hardhat|bottle flask|jar jug pitcher|sink basin|hose pipe|tile slab|
doll puppet|ball sphere|puck disc|frisbee disc|swing hammock|seesaw teeter|trampoline springboard|
stairs staircase stairway|build construct erect|grab seize snatch grasp clutch|catch seize|fill stuff pack|
bunch cluster|equal identical|insane crazy|bucket pail|videotape film|release liberate|primary principal|
pub tavern|place pack load|burrow dig excavate|sprinkle scatter strew|drizzle trickle|
crush smash mash squash|crumble crumb|cube dice|trek hike|ascend climb|gesture motion|tidy clean|vault leap|
hurdle jump|sled sledge toboggan|parachute skydive|snorkel dive|rappel abseil|rollerblade skate|
wrestle grapple|strum pluck|chant sing|hum sing|parade procession|snapshot photo|braid plait|comb brush|
teenager teen adolescent youth|senior elderly|folk people|gal girl|lass girl|dude guy|vocalist singer|
musician instrumentalist|trainer coach|dancer ballerina|warrior fighter|carpenter woodworker|
mechanic repairman|hairdresser barber stylist|clerk cashier|shopkeeper storekeeper|protester demonstrator|
vagrant beggar|tourist sightseer|dirtbike motorbike|handgun pistol|rucksack backpack knapsack|
mobile smartphone phone|tv television telly|mic microphone|earphone headphone headset|lamp lantern|
torch flashlight|broom mop|tray platter|bbq barbecue|ramen noodle|veggie vegetable|aubergine eggplant|
courgette zucchini|coriander cilantro|dough batter pastry|burger hamburger|hotdog sausage frankfurter|
doughnut donut|pancake crepe|yogurt yoghurt|tee tshirt|trainers sneakers|hoodie sweatshirt|
pullover sweater jumper|tuxedo suit|attire apparel garment clothes|headscarf bandana bandanna|
tights leggings|vest waistcoat|porch patio veranda|balcony terrace|plaza square|crosswalk crossing|
intersection junction crossroads|highway freeway motorway|railway railroad|dock pier wharf jetty|
harbor port marina|stadium arena|gym gymnasium|waterfall cascade|brook stream|woodland forest|cave cavern|
youthful young|furry fuzzy fluffy|tan beige|gray grey|purple violet|crimson scarlet red|golden gold|
checkered plaid|balding bald|joyous happy|soaked drenched|frozen icy|energetic lively|rapid swift|
cuddle hug snuggle|smooch kiss|caress stroke pat|dodge evade|dribble bounce|lob throw|pitch throw|
fling throw|bathe wash bath|lather soap|whittle carve|weld solder|dunk dip submerge immerse|strain drain|
steer navigate|tow pull|lace tie|strip undress|grownup adult|spouse partner|bloom blossom|pebble stone|
puppy pup|stool chair|pushchair stroller buggy|lawnmower mower|rollercoaster coaster|carnival fair|
circus show|contestant competitor|sergeant officer|troop soldier|fry-up fry|seashell shell|meow mew|
bark woof|
"""

# The word that stands for all, then forms that a stemmer does not bring together.
FORMS: Final = """
add adding added adds|run ran running|sit sat sitting|stand stood|lie lying lain|sleep slept|
speak spoke spoken|say said|tell told|think thought|buy bought|sell sold|get got getting gotten|
give gave given giving|take took taken taking|go went gone going|come came coming|see saw seen|
know knew known|begin began begun beginning|break broke broken breaking|write wrote written writing|
drive drove driven driving|ride rode ridden riding|eat ate eaten|drink drank drunk|swim swam swum swimming|
fly flew flown|throw threw thrown|hold held|keep kept|leave left|find found|make made making|put putting|
cut cutting|hit hitting|stop stopping|wear wore worn|fall fell fallen|rise rose risen rising|
grow grew grown|win won winning|lose lost losing|fight fought|build built|send sent|spend spent|pay paid|
meet met|lead led|read reading|feel felt|choose chose chosen choosing|die dying died dead|show shown|
hide hid hidden hiding|forget forgot forgotten|woman women|man men|child children|person people persons|
foot feet|mouse mice|knife knives|life lives|wife wives|leaf leaves|lady ladies|puppy puppies|
do did done doing|bring brought|teach taught|catch caught|become became|mean meant|set setting|
shut shutting|chop chopping chopped|jog jogging jogged|chat chatting|dance dancing danced|
slice slicing sliced|dice dicing diced|close closed closing|two 2|three 3|four 4|five 5|six 6|seven 7|
hand manually manual|eight 8|nine 9|ten 10|one 1|grab grabbing grabbed|dig digging dug|dip dipping dipped|
drag dragging dragged|drop dropping dropped|drum drumming drummed|flip flipping flipped|
grin grinning grinned|hop hopping hopped|hug hugging hugged|knit knitting|nap napping|pat patting patted|
pet petting petted|plan planning planned|rub rubbing rubbed|skip skipping skipped|slap slapping slapped|
slip slipping slipped|snap snapping snapped|spin spinning spun|step stepping stepped|stir stirring stirred|
strip stripping stripped|swing swinging swung|tap tapping tapped|tip tipping tipped|trim trimming trimmed|
trip tripping tripped|whip whipping whipped|wrap wrapping wrapped|zip zipping zipped|bat batting batted|
pin pinning pinned|beg begging begged|rob robbing robbed|tug tugging tugged|bend bent bending|
bite bit bitten biting|blow blew blown|draw drew drawn|feed fed feeding|hang hung hanging|kneel knelt|
lay laid|light lit|ring rang rung|seek sought|shake shook shaken|shine shone|shoot shot|sing sang sung|
sink sank sunk|slide slid|spread spreading|steal stole stolen|stick stuck|strike struck|sweep swept|
tear tore torn|wake woke woken|weave wove woven|weep wept|wind wound|bind bound|bleed bled|breed bred|
burst bursting|cast casting|cling clung|creep crept|deal dealt|dive dove dived diving|flee fled|fling flung|
freeze froze frozen|grind ground|hear heard|hurt hurting|leap leapt|lend lent|let letting|
shrink shrank shrunk|spit spat|split splitting|spring sprang sprung|sting stung|stink stank|
swear swore sworn|swell swollen|bake baking baked|bike biking|chase chasing chased|rake raking raked|
ski skiing skied|write writing|dress dressed|undress undressed|goose geese|tooth teeth|loaf loaves|
half halves|wolf wolves|calf calves|shelf shelves|scarf scarves|policeman policemen policewoman policewomen|
fireman firemen|fisherman fishermen|businessman businessmen businesswoman|sportsman sportsmen|
cowboy cowboys|baby babies|berry berries|city cities|party parties|body bodies|bunny bunnies|better good|
worse bad|farther further|
"""
