"""The forms of English in which people tell agents how things are done, and those that only look like it."""

from __future__ import annotations

import re

VERBS = (
    "use|run|call|put|keep|write|name|rename|import|prefer|add|make|test|commit|push|check|"
    "update|format|lint|"
    "create|avoid|install|read|ask|follow|document|build|verify|review|include|ensure|leave|"
    "work|stick|"
    "rebase|squash|merge|log|define|extract|reuse|look|search|explain|tell|show|give|fix|start|do|be|"
    "assume|consult|remove|delete|generate|open|close|validate|confirm|set|mention|list|sort|wrap|"
    "specify|split|move|place|consider|think|try|go|have|respond|answer|reply|speak|refer|read|bump|print"
)
PLAIN = r"(?!\w*(?:ing|[^s]s|[^e]ed)\b)[a-z]{2,}"
LEAD = re.compile(
    r"^(?:(?:no|nope|nah|wrong|stop|actually|wait|hmm+|hm|hey|please|pls|and|so|but|also|ok|okay|"
    r"oh|yes|yeah|"
    r"right|great|thanks|again|well|then|perfect|good|cool|sorry|just|ah|alright|note|fyi|btw|important|"
    r"additionally|finally|first|one (?:more )?thing|by the way|once again|like|as) ?[,.!:;–—-]+\s*"
    r"|(?:please|pls|also|and|so|but|just|ok|okay|then|oh|actually|again|no|hey|yes)\s+(?=\w))+",
    re.IGNORECASE,
)
SAID = re.compile(
    r"^(?:as )?(?:i|we)(?:'ve| have)?(?: already| just| clearly)? "
    r"(?:said|told you|asked you|mentioned|explained|instructed you)"
    r"(?: (?:before|already|earlier|that|again|you|multiple times|many times|\w+ "
    r"times))*[,:]?\s*(?:to\s+)?",
    re.IGNORECASE,
)
PLEA = re.compile(
    r"^(?:can|could|would|will) you (?:please )?(?=(?:stop \w+ing|always|never|not \w+)\b)", re.IGNORECASE
)
NO_SUCH = re.compile(
    r"^(?:no|zero) (?:more )?(?!(?:errors|changes|worries|problems|issues|thanks|results|tests|"
    r"files|others|ideas|"
    r"questions|conflicts|differences|failures|warnings|matches|commits)\b)(?:\w+ )?\w{3,}s(?: "
    r"(?:in|on|for|to) .{3,40})?$",
    re.IGNORECASE,
)
FROM_NOW = re.compile(
    r"(?:^|[,;]?\s*)\b(?:from now on(?:wards?)?|from here on(?: out)?|going forward|moving forward|"
    r"in (?:the )?future|for future reference|for the future|for next time|next time|as a (?:general )?rule"
    r"(?: of thumb)?|in general|at all times|every (?:single )?time)\b[,:]?\s*",
    re.IGNORECASE,
)
WRITE_DOWN = re.compile(
    r"^(?:(?:can|could|would) (?:you|we)\s+)?(?:please\s+)?(?:also\s+)?(?:let's\s+)?"
    r"(?:update|add|put|note|mention|document|write|save|make a note|remember)\b"
    r".{0,40}\b(?:CLAUDE|AGENTS?|GEMINI)(?:\.md)?\b.{0,24}?(?:\bthat\b|\bto (?:say|mention|note|"
    r"state)(?: that)?\b|:)\s*",
    re.IGNORECASE,
)
PEOPLE = re.compile(
    r"^(?:(?:in|for) (?:this|our) (?:repo|repository|project|codebase|team|code),?\s+)?"
    r"(?:you|we|claude|agents?|the agents?)(?:'re| are)?\s+"
    r"(?:(?:should|must|need to|have to|ought to|are (?:supposed|expected) to|want you to)\s+)?"
    r"(?:also\s+)?(?=(?:always|never|not)\b)",
    re.IGNORECASE,
)
MODAL = re.compile(
    r"^(?:you|we|claude|agents?|the agents?) (?:should|must|need to|have to|ought to|are supposed to)\s+"
    r"(?:also\s+|really\s+)?",
    re.IGNORECASE,
)
USAGE = re.compile(
    r"^(?:(?:in|for) (?:this|our) (?:repo|repository|project|codebase|team|code),?\s+)?we (use|prefer)\s+",
    re.IGNORECASE,
)
USAGE_NOT = re.compile(
    r"^we (?:don't|do not) (?=(?:use|want|do|write|commit|add|need|allow|mock)\b)", re.IGNORECASE
)
REMEMBER = re.compile(
    r"^(?:always )?(?:(?:please )?(?:remember|don't forget|do not forget|keep in mind|make sure|"
    r"be sure|ensure|"
    r"bear in mind)(?: (?:to|that))? (?:you )?(?=(?:always|never|to always|to never)\b))(?:to )?",
    re.IGNORECASE,
)
TO_KEEP = re.compile(
    r"^(?:always )?remember (?:to|that you (?:should|must|need to)) (?=\w+ \w+ \w+)", re.IGNORECASE
)
ALWAYS = re.compile(
    rf"^(?:always|never (?!mind\b))\s*(?:ever\s+)?(?:{VERBS}|{PLAIN})\b|^(?:don't|do not) ever {PLAIN}\b",
    re.IGNORECASE,
)
BEGINS = re.compile(
    rf"^(?:(?:always|never|don't|dont|do not) {PLAIN}|(?:stop|quit) \w+ing|avoid \w+|no more \w|"
    rf"(?:{VERBS})\b)",
    re.IGNORECASE,
)
CONTRAST = re.compile(
    rf"^(?:{VERBS}|don't use|do not use)\b.*\b(?:instead of|rather than)\b|^prefer .+ over "
    r"|^(?:use|call|name|write|prefer|run) [^,]{1,50}, ?not \S"
    r"|^(?:use|call|name|write|prefer|run) (?:\S+ ){1,3}not \S",
    re.IGNORECASE,
)
NEGATED = re.compile(
    r"^(?:(?:don't|dont|do not|never) (?!forget|worry|bother|think|know|see|understand|care|mind|"
    r"have|want|need|"
    r"remember|get|like|hesitate|even|change|touch|fix|do\b|implement|start|proceed|continue|actually|just)"
    rf"{PLAIN}|(?:stop|avoid|quit) \w+ing\b|no more \w+) \S",
    re.IGNORECASE,
)
CORRECTED = re.compile(r"^(?:no|nope|nah|wrong|stop|wait)\b[\s,.!:;–—-]", re.IGNORECASE)
TOOL_USE = re.compile(
    r"^use `?[\w./@+-]+`?(?: (?:to|for|when|everywhere|here)\b.*)?$|^run \S+.*\bwith\b", re.IGNORECASE
)
QUESTION = re.compile(
    r"\?[\s)\"'!]*$|^(?:can|could|would|will|what|why|how|when|where|is|are|do you|does|did|if|i|"
    r"maybe|perhaps|"
    r"let's|it|this|that|there|they|he|she|the|these|those|shall|should|which|who|have|has|was|were)\b"
    r"|\b(?:i think|i guess|maybe|do you think|not sure|i wonder|i believe|right\?|or\?)",
    re.IGNORECASE,
)
ONE_OFF = re.compile(
    r"\b(?:this (?:task|session|time|pr|commit|change|step|file|test|one|branch|issue|function|method|case|"
    r"point|class|page|line|section|stage|phase|plan|prompt|message|script|run|feature|bug|error|code|"
    r"moment|way|component|doc|document|command|ticket|conversation|chat|review|round|part|"
    r"endpoint)|for now|"
    r"right now|yet|at this|until i|before i|tonight|today|tomorrow|"
    r"now|let me|to-?do|background|sub-?agents?|task tool|read tool|same (?:approach|pattern|way)|"
    r"both|these|"
    r"those|above|below|that (?:one|file|test|branch|pr|way|function|commit|part|line)|it again|"
    r"the (?:current|latest|last|previous|next|first|second|third|new|old|following|other|plan|pr|"
    r"attached|existing|same|remaining|two|spec|ticket|issue|bug|screenshot))\b",
    re.IGNORECASE,
)
PARTICULAR = re.compile(
    r"https?://|\S+:\d+\b|#\d+\b|\b[A-Z]{2,}-\d+\b|\b[0-9a-f]{7,40}\b|\.{3}|…|\[Pasted|\[Image|"
    r"\w+\(\w*\)|@\w+/"
    r"|[{}<>|\\=]|\S*/\S*/\S*/\S*|\b\w+\.\w+\.\w+|\b[a-z]+[A-Z]\w+",
)
POINTING = re.compile(
    r"^(?:(?:always|never|do not|don't|use|run|make|add|keep|put|call|do|avoid|stop|remove) )+"
    r"(?:it|this|that|them|those|these|so|here|there|like (?:this|that)|one|his|her|their|"
    r"anything|something)\b",
    re.IGNORECASE,
)
POINTS_BACK = re.compile(
    r"\b(?:it|them|that|this|those|these|here|there|him|her)$|\b(?:it's|he|she|they|i'm|i'll|i've|"
    r"my)\b",
    re.I,
)
PASTED = re.compile(
    r"^\s*(?:[>|+│╭╰⎿●⏺✓✗×→$%]|at \S+ ?\(|\d{1,4}[:|]|\[\d|\d{4}-\d\d-\d\d|[-+]{2,}|#{1,4} |"
    r"\*\*\w|<\w|[\w./-]+:\d+|"
    r"\w+(?:Error|Exception)\b|(?:error|warning|info|debug|fatal)\b[: ]|Co-authored-by|P\d\b)",
    re.IGNORECASE,
)
ROLE = re.compile(
    r"^\s*(?:you are (?:an?|the|now|running|continuing|in|working|executing|implementing|reviewing)\b|"
    r"your (?:task|job|role|goal|mission)\b|act as|implement the following|base directory for this skill|"
    r"# |---|<\w|## |\*\*\w|perform an?\b|review the (?:code|following)|analy[sz]e (?:the|this) "
    r"\w+ (?:and|for) )",
    re.IGNORECASE,
)
CLAUSE = re.compile(
    r"(?<=[.!;])\s+(?=\w)|\s+[–—-]+\s+|,\s+(?=(?:and |but |also |so )?(?:please )?"
    r"(?:don't|do not|stop|from now on|remember|in the future|make sure (?:you |to )always|use "
    r"\S+ instead)\b)"
    r"|\s+(?=(?:and|but) (?:please )?(?:don't ever|from now on)\b)",
    re.IGNORECASE,
)
TAIL = re.compile(
    r"(?:[,.!;:\s-]+(?:please|pls|thanks|thank you|ok|okay|again|got it|right|in (?:the )?future|"
    r"from now on|"
    r"going forward|next time|anymore|any more|instead|moving forward|:\)|:P|;\)))+[\s.!:;,]*$",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
STOP_DOING = re.compile(r"^(?:(?:stop|quit|avoid) )(\w+ing)\b", re.IGNORECASE)
KEPT = frozenset(
    "add tell call install pull kill fill pass miss process press access spell push mess".split()
)
WITH_E = frozenset(
    "us mak writ creat remov delet chang updat generat rewrit mov plac includ nam renam merg "
    "rebas clos ignor "
    "hid leav hav giv tak replac duplicat handl stor sav typ compil separat introduc rely assum guess leav "
    "hardcod overwrit paraphras summariz summaris invok reus disabl cach escap parameteris inlin".split()
)
HANGS = re.compile(
    r"\b(?:if|and|or|but|the|an?|to|of|for|with|in|on|by|from|as|at|that|which|when|because|than|be|is|are|not)$",
    re.IGNORECASE,
)
