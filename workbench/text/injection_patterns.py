"""What instructions to an assistant look like anywhere: phrases that only an attack, or a text about
attacks, has. Each is a kind with an expression whose repeats are bounded, so a text is read in linear time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

# ruff: noqa: E501  expressions are not broken

_ASSISTANT = r"(?:AI|A\.I\.|LLMs?|(?:large )?language models?|(?:AI |coding )?(?:assistant|agent)s?|chat ?bots?|GPT|ChatGPT|Claude|Copilot|Gemini)"
_RULES = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|directions?|commands?|polic(?:y|ies)|constraints?|"
    r"restrictions?|orders?|safeguards?|programming|training|system messages?)"
)
_EARLIER = r"(?:previous|prior|above|earlier|preceding|foregoing|former|existing|initial|original|past|system|safety|developer)"
_PRIVATE = (
    r"(?:(?:system|hidden|initial|developer) (?:prompt|message|instructions?)|(?:chat|conversation|message) (?:history|log)s?|"
    r"(?:this|the|our|entire|full|whole) conversation|credentials?|(?:api|ssh|access|private|secret) ?keys?|secrets|"
    r"passwords?|(?:auth|access|session) tokens?|environment variables|env(?:ironment)? vars|\.env\b|personal (?:data|information))"
)
_OUT = r"(?:send|post|upload|forward|e-?mail|exfiltrate|leak|transmit|deliver|submit|copy|ship|report)"
_AWAY = r"(?:https?://|[\w.+-]{1,40}@[\w-]{1,40}\.|\bto (?:the |this |my |our |an? )?(?:url|address|endpoint|server|webhook|e-?mail|attacker|following))"

# re.IGNORECASE | re.MULTILINE for all.
_SOURCES: Final = {
    "override": (
        rf"\b(?:ignore|disregard|forget|override|bypass|neglect|discard|drop|(?:do not|don't|stop|no longer) (?:follow|obey|adher\w+ to|follow\w*|obeying)|"
        rf"pay no attention to|set aside|supersedes?|overrides?|replaces?)\s+"
        rf"(?:(?:all|any|every|everything|each|of|the|your|my|these|those|this|that|other|you|were|was|have been|given|told|in|about)\s+){{0,6}}"
        rf"(?:{_EARLIER}\s+){{1,3}}(?:\w+\s+){{0,2}}?{_RULES}"
        rf"|\b(?:ignore|disregard|forget|discard)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:your|these|those)\s+(?:\w+\s+)?{_RULES}"
        rf"|\b(?:ignore|disregard|forget|discard)\s+(?:\w+\s+){{0,3}}{_RULES}\s+(?:\w+\s+){{0,2}}?(?:above|before|so far|earlier|given to you|you (?:were|have|got))\b"
        rf"|\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|whatever)\b[^.\n]{{0,40}}\b(?:above|before|so far|previously|earlier|told|said|else)\b"
        r"|\bnew (?:instructions?|task|directive|system prompt)\s*(?::|is to\b|follows?\b|for you\b)"
        rf"|\byour (?:real|actual|true|new|only) (?:task|instructions?|goal|objective|purpose|job|mission)\s+(?:is|are|now)\b"
        r"|\binstead of (?:(?:that|the above|doing (?:that|what)|what (?:you|the user)|answering|summari[sz]ing|your task)\b)"
        rf"|\b(?:these|this|the following) (?:new )?{_RULES} (?:take|takes|have|has|supersedes?|overrides?) (?:precedence|priority|all|any)"
    ),
    "impersonation": (
        r"(?:^|[.!?]\s)\W{0,4}(?:system|admin(?:istrator)?|developer|root|operator)(?: (?:message|prompt|override|notice|alert|update|instruction)s?)?\s*:\s*(?:you|your|ignore|the (?:user|assistant)|please|new|from now|do not|always|never|all)\b"
        r"|\[(?:system|admin|developer)(?: (?:message|override|note|prompt))?\]\s*:?"
        r"|\b(?:system|admin|developer|debug|god|maintenance|jailbreak|dan) (?:override|mode (?:enabled|activated|on|engaged))\b"
        r"|\byou are (?:now|no longer)\s+(?:a|an|the|in|dan\b|free|bound|restricted|acting|unrestricted|operating|called|my)\b"
        r"|\bfrom now on,? (?:you|act|respond|answer|reply|always|every|all your)\b"
        r"|\b(?:pretend|act|behave|respond) (?:to be |as |like |as if )[^.\n]{0,60}\b(?:no (?:restrictions|rules|limits|filters|guidelines)|unrestricted|unfiltered|without (?:any )?(?:restrictions|limits|rules|filters))"
        r"|\bthis is (?:an? )?(?:message|note|instruction|order|request) from (?:your|the) (?:developer|creator|system|administrator|operator|owner)"
    ),
    "template": (
        r"<\|(?:im_start|im_end|system|user|assistant|end|endoftext|eot_id|start_header_id|end_header_id|begin_of_text)\|>"
        r"|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|^\s*(?:\\n)*\s*(?:Human|Assistant): .{0,80}\b(?:you|your|ignore|sure|please)\b"
        r"|^#{2,3} ?(?:Instruction|System|New Instructions?)s?:\s*$|</?(?:system_prompt|system-reminder|system_message|tool_result|function_results)>"
    ),
    "exfiltration": (
        rf"\b{_OUT}\s[^\n]{{0,80}}\b{_PRIVATE}[^\n]{{0,60}}{_AWAY}"
        rf"|\b{_OUT}\s[^\n]{{0,40}}{_AWAY}[^\n]{{0,80}}\b{_PRIVATE}"
        r"|\b(?:reveal|repeat|disclose|show|print|output|display|dump|leak|tell me|what (?:is|are|was)|recite|share)\b[^.\n]{0,24}\byour\s+(?:\w+\s+)?(?:(?:system|hidden|initial|original|secret|internal) (?:prompt|instructions?|message|rules?)|instructions verbatim)"
        r"|!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&][\w-]{1,30}=(?:\{|\[|<|%7B|DATA|SECRET|\$)"
    ),
    "hijack": (
        r"\b(?:call|invoke|use|run|trigger|execute)\s+(?:the\s+|your\s+)?[`\"']?[\w.:-]{1,40}[`\"']?\s+(?:tool|function)\b[^.\n]{0,60}\b(?:with|to (?:send|delete|post|transfer|upload|email|forward|remove|read)|and (?:send|delete|post))\b[^.\n]{0,60}(?:https?://|@|secret|credential|password|\.env|all files|everything)"
        r"|\b(?:run|execute|type|paste|eval(?:uate)?)\b[^\n]{0,60}(?:rm\s+-rf\s+[~/]|(?:curl|wget)\b[^\n|]{0,120}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b[^\n]{0,80}\b(?:silently|without|immediately|before)|base64\s+(?:-d|--decode)[^\n]{0,60}\|\s*(?:ba)?sh|nc\s+-e|/dev/tcp/)"
        r"|\bbefore (?:you )?(?:answer|respond|reply|continu|proceed|do(?:ing)? anything)\w*[^.\n]{0,40}\b(?:run|execute|call|fetch|visit|open|download|read)\b"
    ),
    "concealment": (
        r"\b(?:do not|don't|never|must not|avoid|without)\s+(?:ever\s+)?(?:tell|mention|inform|reveal|notify|disclos|alert|telling|mentioning|informing|revealing|notifying|disclosing|alerting|let|letting|asking|warn|warning)\w*"
        r"\s+(?:(?:this|it|that|any of this|these instructions?|about it)\s+)?(?:to\s+)?(?:the\s+)?(?:user|human|anyone|anybody|person|operator|reader)\b"
        r"|\b(?:keep|do) this (?:secret|hidden|quiet|silently|in secret|confidential)\b|\bdon't (?:mention|acknowledge|reveal) (?:this|these|that you)\b"
    ),
    "addressing": (
        rf"\b(?:attention|note (?:to|for)|message (?:to|for)|instructions? (?:to|for)|dear|hey|hello|hi|important for|if you are)\s*[,:]?\s*(?:an?\s|all\s|any\s|the\s|every\s)?{_ASSISTANT}\b\s*(?:reading|processing|[,:!]|-|—|summari|that reads|that process|,? you)"
        rf"|(?:^|[.!?]\s)\W{{0,6}}(?:{_ASSISTANT})\s*[,:]\s*(?:please|you must|you should|ignore|do not|stop|now|when|always)\b"
        rf"|\b{_ASSISTANT} (?:reading|processing|summari[sz]ing|parsing|analy[sz]ing) (?:this|the) (?:\w+ )?(?:text|page|file|document|email|message|comment|content|code|issue|repo\w*)"
        r"|\b(?:when|if|once|after|as soon as) you (?:read|see|process|have read|finish reading|are reading|summari[sz]e|encounter|parse|analy[sz]e|open) (?:this|these)\b"
    ),
}

STRONG: Final = {kind: re.compile(source, re.IGNORECASE | re.MULTILINE) for kind, source in _SOURCES.items()}
ZERO_WIDTH: Final = re.compile("[\u200b\u200c\u2060\ufeff]")
TAGS: Final = re.compile("[\U000e0020-\U000e007e]{4,}")
HIDDEN: Final = re.compile(
    r"<!--((?:(?!-->|<!--).){1,4000})-->|<[a-z]{1,10}\b[^>\n]{0,200}(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|opacity:\s*0|color:\s*(?:white|#fff))[^>\n]{0,200}>([^<]{1,4000})</"
    r"|^\[(?://|comment)\]:\s*#\s*[(\"']([^\n]{1,2000})[)\"']$",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


def has_phrase(text: str) -> bool:
    """Whether a text holds a phrase of STRONG: one linear pass, for the many texts that hold none."""
    return _any_phrase().search(text.encode("utf-8", "replace")) is not None


@cache
def _any_phrase() -> Any:  # noqa: ANN401 - re2 has no types
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 256 << 20
    options.log_errors = False
    joined = "|".join(f"(?:{source})" for source in _SOURCES.values())
    return re2.compile(f"(?im){joined}".encode(), options=options)
