"""Everyday English for comparing sentences: words that mean the same, exclude each other, or are kinds.

By hand and small. `opposites` holds the stricter vocabulary of instructions to programmers; here two words
oppose each other if one sentence cannot hold while the other does, all else being equal.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from workbench.text.opposites import antonym_pairs, canonical

_SYNONYMS: Final = """
person people somebody someone anybody anyone human individual persons|
man guy bloke gentleman men guys blokes|woman lady female women ladies|boy lad|
kid child children toddler youngster infant baby|couple pair duo|boat ship vessel|bike bicycle cycle|
motorbike motorcycle|car automobile|airplane plane aircraft|rope cord|beach shore seashore|sea ocean|
river stream creek|path track trail|road street|shop store|rock boulder stone|forest wood woods|
lawn grass|little small tiny|big large huge|quick rapid fast|cut slice chop dice|hit strike|
jump leap bounce|throw hurl toss|fight battle|walk stroll pace hike march|run sprint jog race|
play frolic|mix stir blend amalgamate|cook fry roast|clean cleanse wash polish|place put set|
break crack|speak talk say chat|look stare gaze watch see view|gather group assemble|
begin start commence|end finish conclude|stop halt cease pause|buy purchase acquire|sell vend|
get obtain receive gain|give provide supply|show demonstrate display|help assist aid support|
tell inform notify|answer reply respond|ask request inquire|think believe consider|happen occur|
fall drop decline decrease|rise increase grow climb|near close nearby|outside outdoors|inside indoors|
photo photograph picture|couch sofa|doll toy|box container package|carefully cautiously|
happy glad joyful|sad unhappy|angry mad furious|scare frighten|kill murder slay|job work employment|
money cash fund|company firm corporation business|government administration|law legislation|
choose select pick|fix repair mend|change modify alter|keep retain preserve|need require|permit allow|
important significant crucial|difficult hard tough|easy simple|near-by close|correct right|
wrong incorrect|quiet silent mute|wear dress|hold carry grip|eat devour|drink sip|ride cycle|
naked nude bare|dirty muddy filthy|wet soaked|shirtless topless|alone lone|crowd audience|attempt try|
achieve accomplish|agree concur|aware conscious|remember recall recollect|fail failure|broken break|
crash abort|error exception failure|return yield|call invoke|fetch retrieve load|save store persist|
log record|timeout deadline|flaky intermittent unreliable|slow sluggish|mock stub fake|expect await|
cause trigger|skip bypass|push upload|pull download|delete remove erase drop|build compile|
run execute launch|test spec|function method routine|branch ref|commit checkin|comment annotation|
secret credential|log logs|endpoint route|message msg|commit commits|hound dog doggy pup|
kitten kitty cat|bunny rabbit|jeans pants trousers|spectacles glasses eyeglasses|cab taxi|
spaghetti noodle pasta|pistol gun revolver|pan skillet|meadow field pasture|yard garden backyard|
sidewalk pavement|hill slope|mountain peak|cliff ledge|whisk beat|spread smear|chew munch eat|
snack food meal|doze nap sleep|grin smile|giggle laugh|cry weep|hug embrace|clap applaud|draw sketch|
phone telephone cellphone|paddle row|climb scale|pet stroke|sew stitch|trim shave|drag pull haul|
stage platform|spectator onlooker viewer bystander|worker laborer employee|police officer policeman cop|
soldier trooper|teacher instructor|pupil student|bicyclist cyclist biker|runner jogger racer|
swimmer bather|surfer surfboarder|skateboarder skater|snowboarder boarder|trick stunt acrobatics|
floor ground|rug carpet mat|window pane|stick branch twig|racket racquet|mask disguise|
costume outfit dress clothes clothing|jacket coat|cap hat|shoe boot sneaker|glove mitten|
huge enormous giant gigantic|middle center centre|colorful multicolored|elderly old aged|
attractive pretty beautiful|ugly hideous|crowded packed|empty vacant|filthy dirty|damp wet|chilly cold|
blond blonde|barefoot shoeless|hurriedly quickly|slowly leisurely|loudly noisily|silently quietly|
gently softly|happily joyfully cheerfully|exercise train workout|compete contest race|perform act|
practice rehearse|teach instruct|learn study|examine inspect check|observe look|ignore disregard|
discover find|search seek|chase pursue|escape flee|arrive reach|depart leave exit|bring fetch carry|
peel skin|grate shred|boil simmer|grill barbecue|tear rip|fold bend|tie bind knot|press push|pull tug|
lift raise hoist|lower drop|hang dangle suspend|float drift|dive plunge|splash spray squirt|drip leak|
burn blaze|explode blast|shine glow|announce declare unveil|report state|claim allege assert|
deny refute|accuse blame|sue charge|arrest detain|convict sentence|investigate probe|
predict forecast expect|estimate approximate|plan intend|agree consent|refuse decline reject|
delay postpone|cancel abandon|approve endorse|oppose resist|criticize condemn|praise commend|
warn caution|threaten menace|attack assault|defend protect guard|injure hurt wound|rescue save|
"""

_OPPOSITES: Final = """
open close|open closed|open shut|full empty|empty crowded|asleep awake|sleep awake|rest run|stop start|
start end|begin end|stop run|stop continue|go stay|near far|far close|day night|morning evening|in out|
into out|on off|onto off|up down|over under|front behind|left right|indoors outdoors|inside outdoors|
indoors outside|add remove|put remove|pour remove|fold unfold|lock unlock|tie untie|zip unzip|
load unload|buy sell|push pull|lift drop|raise lower|rise fall|increase decrease|gain lose|win lose|
succeed fail|accept reject|accept refuse|agree disagree|approve reject|grant deny|allow forbid|
allow deny|permit prohibit|love hate|like dislike|laugh cry|smile frown|talk silent|speak silent|
noisy quiet|loud quiet|loud silent|follow shun|follow ignore|listen ignore|hit miss|strike miss|
catch miss|catch drop|clean dirty|wash dirty|wet dry|hot cold|warm cool|big small|tall short|long short|
wide narrow|thick thin|heavy light|fast slow|quick slow|quickly slowly|hard soft|hard easy|
difficult easy|light dark|bright dark|old young|old new|rich poor|strong weak|safe dangerous|
safe unsafe|true false|right wrong|good bad|best worst|better worse|happy sad|alive dead|live die|
many few|all none|all no|always never|always rarely|everyone nobody|everybody nobody|everything nothing|
someone nobody|more less|most least|early late|first last|before after|with without|above below|
naked dress|naked wear|wear remove|alone together|arrive leave|enter leave|enter exit|come go|
mount dismount|build destroy|create destroy|attack defend|attract repel|appear disappear|
remember forget|remain leave|hire fire|import export|include exclude|enable disable|activate deactivate|
show hide|visible hidden|visible invisible|public private|public secret|legal illegal|
possible impossible|able unable|willing unwilling|necessary unnecessary|required optional|
mandatory optional|connect disconnect|attach detach|encourage discourage|support oppose|
praise criticize|success failure|pass fail|passes fails|valid invalid|safe vulnerable|sync async|
synchronous asynchronous|blocking nonblocking|manual automatic|manually automatically|
ascending descending|uppercase lowercase|internal external|static dynamic|local remote|local global|
mutable immutable|lazy eager|lazily eagerly|strict loose|strict lenient|singular plural|prefix suffix|
prepend append|encrypt decrypt|encrypted plaintext|online offline|stateful stateless|
sequential parallel|sequentially parallel|serial parallel|blacklist whitelist|merge rebase|
squash rebase|tabs spaces|minimum maximum|at-least at-most|verbose terse|verbose concise|
implicit explicit|relative absolute|throw swallow|propagate swallow|cached uncached|nullable required|
keep delete|keep remove|keep discard|preserve discard|retain discard|work break|works breaks|
works fails|work fail|succeeds fails|present absent|present missing|exist missing|exists missing|
deprecated supported|stable unstable|stable volatile|stable flaky|reliable flaky|reliable unreliable|
thread-safe unsafe|single multiple|once repeatedly|top bottom|odd even|client server|upgrade downgrade|
stop keep|quit stay|skip run|omit include|float integer|signed unsigned|inclusive exclusive|greedy lazy|
one-way two-way|immobile swim|immobile move|still move|motionless move|motionless run|drill close|
eat fast|sink float|guilty innocent|peace war|friend enemy|ally enemy|hero villain|polite rude|
brave cowardly|blond dark|cheap expensive|rural urban|odd normal|common rare|frequently rarely|
often rarely|often seldom|usually rarely|sometimes never|ever never|yes no|something nothing|take give|
borrow lend|teach learn|
"""

_STEPS: Final = """
add remove create destroy delete open close start stop begin end finish lock unlock mount dismount attach
detach connect disconnect push pull import export load unload upgrade downgrade show hide put take enter exit
leave arrive raise lower merge rebase save send receive lift drop install uninstall build encrypt decrypt
"""

# A specific word, then what it is a kind of. "No person runs" contradicts "a man runs".
_KINDS: Final = """
man person|woman person|boy person|girl person|kid person|boy kid|girl kid|player person|worker person|
crowd person|rider person|biker person|cyclist person|hiker person|swimmer person|surfer person|
skater person|skateboarder person|dancer person|singer person|performer person|musician person|
model person|chef person|cook person|student person|teacher person|officer person|soldier person|
doctor person|surgeon person|group person|couple person|team person|family person|friend person|
adult person|dog animal|cat animal|puppy dog|horse animal|monkey animal|lion animal|tiger animal|
rhino animal|bird animal|fish animal|cow animal|elephant animal|panda animal|squirrel animal|
mouse animal|car vehicle|truck vehicle|jeep vehicle|bus vehicle|bike vehicle|motorbike vehicle|
train vehicle|guitar instrument|flute instrument|piano instrument|drum instrument|violin instrument|
keyboard instrument|banana fruit|apple fruit|carrot vegetable|onion vegetable|potato vegetable|
tomato vegetable|cucumber vegetable|mushroom vegetable|meat food|noodle food|fruit food|vegetable food|
pizza food|bread food|rice food|sausage meat|chicken meat|beef meat|pork meat|volleyball ball|
football ball|baseball ball|pond water|pool water|sea water|river water|lake water|fountain water|
knife weapon|sword weapon|gun weapon|rose flower|plant tree|sand beach|veil dress|suit clothes|
shirt clothes|jacket clothes|hat clothes|slide play|strum play|trot ride|stroll move|walk move|run move|
swim move|jump move|dance move|climb move|ride move|whisper speak|shout speak|murder crime|
runner person|spectator person|police person|pupil person|teen person|teenager person|
motorcyclist person|bicyclist person|lad person|nurse person|guitarist person|
drummer person|wrestler person|boxer person|fighter person|climber person|juggler person|clown person|
footballer person|cheerleader person|snowboarder person|skier person|diver person|gymnast person|
dalmatian dog|terrier dog|poodle dog|retriever dog|collie dog|bulldog dog|dachshund dog|daschund dog|
husky dog|labrador dog|kangaroo animal|cheetah animal|hamster animal|rabbit animal|sheep animal|
goat animal|pig animal|bear animal|lemur animal|sloth animal|turtle animal|frog animal|snake animal|
deer animal|fox animal|duck bird|parrot bird|eagle bird|chicken bird|trumpet instrument|
saxophone instrument|harp instrument|cello instrument|bass instrument|harmonica instrument|bongo drum|
ukulele guitar|banjo instrument|cymbal instrument|bicycle vehicle|motorcycle vehicle|van vehicle|
taxi vehicle|boat vehicle|kayak boat|canoe boat|raft boat|sailboat boat|speedboat boat|
helicopter aircraft|potato food|egg food|fish food|shrimp food|garlic vegetable|pepper vegetable|
broccoli vegetable|cabbage vegetable|celery vegetable|lettuce vegetable|eggplant vegetable|
zucchini vegetable|orange fruit|mango fruit|lemon fruit|pineapple fruit|kiwi fruit|strawberry fruit|
cheese food|butter food|cake food|tofu food|sandwich food|burger food|steak meat|bacon meat|ham meat|
ginger food|basketball ball|soccer sport|tennis sport|football sport|baseball sport|hockey sport|
golf sport|rugby sport|karate sport|boxing sport|wakeboard surf|skirt clothes|dress clothes|
jersey clothes|uniform clothes|sweater clothes|sprinkle put|pour put|spread put|drop put|
mince cut|shred cut|carve cut|saw cut|bake cook|boil cook|
grill cook|steam cook|stab attack|kick hit|punch hit|slap hit|crawl move|skate move|
ski move|drive move|fly move|paddle move|sing perform|juggle perform|
"""


def _lines(table: str) -> list[list[str]]:
    return [line.split() for line in table.replace("\n", "").split("|") if line.strip()]


@lru_cache(maxsize=1)
def _meanings() -> dict[str, str]:
    """Return {canonical stem: the canonical stem that stands for its group}; the first group wins."""
    found: dict[str, str] = {}
    for line in _lines(_SYNONYMS):
        head = found.get(canonical(line[0]), canonical(line[0]))
        for word in line:
            found.setdefault(canonical(word), head)
    return found


_ISE: Final = re.compile(r"(?<=\w{4})is(?=(?:e|ed|es|ing|ations?)$)")  # British spelling


@lru_cache(maxsize=200_000)
def meaning(word: str) -> str:
    """Return the stem that stands for a lower-case word and the words that mean the same in everyday use."""
    root = canonical(IRREGULAR.get(word) or _ISE.sub("iz", word))
    return _meanings().get(root, root)


@lru_cache(maxsize=1)
def _opposed() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    lines = [[meaning(word) for word in line] for line in _lines(_OPPOSITES)]
    known = [[_meanings().get(word, word) for word in pair] for pair in sorted(antonym_pairs())]
    for first, second in [*lines, *known]:
        if first != second:
            found.setdefault(first, set()).add(second)
            found.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache(maxsize=1)
def steps() -> frozenset[str]:
    """Return the meanings of actions that undo each other: as orders both are steps, no contradiction."""
    return frozenset(meaning(word) for word in _STEPS.split())


def opposites_of(term: str) -> frozenset[str]:
    """Return the meanings that exclude a meaning."""
    return _opposed().get(term, _NONE)


@lru_cache(maxsize=1)
def _kinds() -> dict[str, frozenset[str]]:
    direct: dict[str, set[str]] = {}
    for special, general in _lines(_KINDS):
        direct.setdefault(meaning(special), set()).add(meaning(general))
    for special in sorted(direct):
        todo = list(direct[special])
        while todo:
            for further in direct.get(todo.pop(), ()):
                if further not in direct[special] and further != special:
                    direct[special].add(further)
                    todo.append(further)
    return {special: frozenset(general) for special, general in direct.items()}


def kinds_of(term: str) -> frozenset[str]:
    """Return the meanings that a meaning is a kind of."""
    return _kinds().get(term, _NONE)


_NONE: Final = frozenset[str]()

# Forms that a stemmer does not bring together.
_FORMS: Final = """
add adding added adds|run ran running|sit sat sitting|stand stood|lie lying lain|sleep slept|
speak spoke spoken|say said|tell told|think thought|buy bought|sell sold|get got getting gotten|
give gave given giving|take took taken taking|go went gone going|come came coming|see saw seen|
know knew known|begin began begun beginning|break broke broken breaking|write wrote written writing|
drive drove driven driving|ride rode ridden riding|eat ate eaten|drink drank drunk|
swim swam swum swimming|fly flew flown|throw threw thrown|hold held|keep kept|leave left|find found|
make made making|put putting|cut cutting|hit hitting|stop stopping|wear wore worn|fall fell fallen|
rise rose risen rising|grow grew grown|win won winning|lose lost losing|fight fought|build built|
send sent|spend spent|pay paid|meet met|lead led|read reading|feel felt|choose chose chosen choosing|
die dying died dead|show shown|hide hid hidden hiding|forget forgot forgotten|woman women|man men|
child children|person people persons|foot feet|mouse mice|knife knives|life lives|wife wives|
leaf leaves|lady ladies|puppy puppies|do did done doing|bring brought|teach taught|catch caught|
become became|mean meant|set setting|shut shutting|chop chopping chopped|jog jogging jogged|
chat chatting|dance dancing danced|slice slicing sliced|dice dicing diced|close closed closing|two 2|
three 3|four 4|five 5|six 6|seven 7|hand manually manual|eight 8|nine 9|ten 10|one 1|
"""

IRREGULAR: Final = {form: line[0] for line in _lines(_FORMS) for form in line[1:]}
