"""The verbs with which instructions to programmers begin, and the nouns that look like them."""

from __future__ import annotations

_VERBS = """
abide abort abstain accept account achieve acknowledge activate adapt add address adhere adjust adopt
advise aim align allow analyse analyze annotate announce anticipate append apply approve ask assemble
assert assess assign assume attach attempt audit authenticate authorize automate avoid await back base
batch be bear begin boost bring browse bump bundle calculate capture carry catch categorize centralize
choose cite clarify classify clean clear clone close co-locate collect colocate combine communicate
compare compile complete compose compress compute conduct configure confirm conform connect consider
consolidate construct consult consume contain continue convert correct craft create debounce decide
declare decompose decouple dedupe deduplicate defer define delegate delete deliver deploy deprecate
derive describe detect determine develop deviate diagnose differentiate disable discard disclose discuss
dispose distinguish divide do double-check download draft drop duplicate edit elaborate eliminate embed
embrace emit employ enable encapsulate encode encourage encrypt enforce engage ensure enter enumerate
escalate escape establish evaluate examine exclude execute exercise exit expand expect explain explore
expose express extend extract facilitate factor fail familiarize favor favour feed fetch fill find finish
fix flag flatten follow forbid forget fork freeze fulfill gate gather generate get give govern grant
grep ground guarantee hardcode harden hash hide highlight hold honor identify ignore illustrate implement
improve include incorporate increase indent infer inform inherit initialize inject inline insert inspect
install instantiate instruct instrument integrate interpret introduce invalidate invest investigate
invoke isolate iterate join justify keep know launch lazy-load lead leave let leverage listen localize
locate look lower maintain make manage maximize measure memoize mention merge migrate mimic minify
minimize mirror mitigate modify modularize monitor move namespace navigate nest normalize notify
obey observe obtain offer offload omit operate opt optimize organise organize override paginate
parallelize parameterize parse partition paste perform persist pick pin polish populate prefer prefix
preload prepare prepend preserve prevent prioritise prioritize proceed produce prohibit promote prompt
propagate propose protect prove provide provision publish pull purge push put quote raise randomize reach
read reason rebase rebuild recheck recognize recommend recover redact redirect reduce refactor refer
refine reflect refrain refresh refuse regenerate register reject rely remain remember remove rename
render reopen reorganize replace replicate reproduce require reserve reset resist resolve respect respond
restart restore restrict restructure retain retrieve retry reuse reveal revert revisit rewrite rotate
round run sanitise sanitize satisfy save scan schedule scrub secure seek segregate select send separate
serialize serve shield ship shut simplify simulate skip slice snapshot solve sort specify spin split squash
stage standardise standardize start stay stick stop stress strip strive submit subscribe substitute
suffix suggest summarise summarize supply suppress swap switch synchronize synthesize tackle tag tailor
take teach tell terminate think throttle throw tidy transform translate traverse treat trim trust try
tune turn understand undo unify uninstall unsubscribe unwrap upgrade upload use utilise utilize validate
vary visit wait walk warn weigh write yield
"""
VERBS = frozenset(_VERBS.split())

_AMBIGUOUS = """
access alert author benchmark block branch break bridge build cache call cap change check comment commit
compact copy cost cover cut debug decorate default design detail display document draw estimate export
file filter fit flow focus force format group guard handle head help hook import index label lay layout
level limit line link lint list load lock log loop map mark match mock model mount mutate name need open
order output own pack pair pass patch pattern permit pipe place plan play plug point port post practice
present preview print process profile query range rate record release repeat reply report request
research return review route scale scope search set share show sign spawn spell spread stack store stream
string structure stub style sum support surface sync talk target test time touch trace track train
transfer trigger type update verify version watch work wrap
"""
AMBIGUOUS = frozenset(_AMBIGUOUS.split())

_NOUN_FOLLOWERS = """
age area args arguments attribute attributes balancing base behavior behaviour block blocks bodies
body boundaries budget case cases check checks clarity class classes client command
commands commit commits components config configuration content control convention conventions
count coverage data definition definitions dependencies detail details diff directory docs documentation
driven driven-development engine environment error errors example examples execution factory field fields
file files first-class fixture fixtures flow folder format formats framework function functions guide
guidelines handler handlers handling hierarchy history hooks id ids information injection inspection
interface isolation job key keys kind language layer length level levels library limit limits list log
loop management manager mechanism message messages metadata method methods mode model models module name
names naming number object objects occurred occurs operation operations operator operators optimization
options order organization output overview package packages pages parameter parameters path paths
pattern patterns performance period phase pipeline plan points policies policy prefix process processing
project pyramid queue rate ratio reference requirements response result results review rules runner safe
safety schema scope script scripts section sections server service services set setup size sizes space
stage status steps store strategies strategy structure style styles subject subjects suite suites support
syntax system systems table tables template templates tests time tool tools tracking tree type types
unit update usage validation value values variable variables version versions view workflow workflows
"""
NOUN_FOLLOWERS = frozenset(_NOUN_FOLLOWERS.split())
