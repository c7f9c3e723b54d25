"""The shapes of secrets that announce themselves: issued tokens by their prefix, and the places of secrets.

A shape is a kind and an expression in RE2's syntax over bytes. `TOKENS` match the secret itself; `PLACES` and
`COMMANDS` match its surroundings and capture the secret in their only group. Prefixes and
lengths are those their issuers document.
"""

# ruff: noqa: E501  expressions are not broken

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from workbench.text.secret_values import is_given, is_key_block, is_mixed, is_numbered, is_random

Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Shape:
    """How secrets of a kind look. Where the expression is too loose, `holds` judges what it found."""

    kind: str
    expression: str
    holds: Check | None = None


_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"

TOKENS: Final = (
    # Whole keys, then keys whose end was cut off. Between the marks nothing holds two dashes in a row.
    Shape("private-key", rf"{_BEGIN}(?:[^-]|-[^-])*?{_END}", is_key_block),
    Shape("private-key", rf"{_BEGIN}(?:[^A-Za-z0-9+/=-]{{1,12}}[nr]?[A-Za-z0-9+/=]{{20,}})+"),
    Shape(
        "private-key", r"PuTTY-User-Key-File-[23]:(?:[^-]|-[^-])*?Private-MAC: [0-9a-f]{40,64}", is_key_block
    ),
    Shape("age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    Shape("jwt", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*(?:\.[\w-]+){0,2}"),
    Shape("aws-access-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    Shape("aws-bedrock-key", r"\bABSK[A-Za-z0-9+/]{100,}={0,2}"),
    Shape("google-key", r"\bAIza[\w-]{30,}"),
    Shape("google-oauth", r"\bGOCSPX-[\w-]{20,}|\bya29\.[\w-]{20,}|\b1//0[\w-]{30,}"),
    Shape("azure-secret", r"\b[\w~.-]{3}\dQ~[\w~.-]{31,40}"),
    Shape("github-token", r"\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"),
    Shape("gitlab-token", r"\bgl(?:pat|ptt|dt|rt|cbt|ft|imt|agent|oas|soat|ffct|wt)-[\w-]{16,}(?:\.[\w-]+)*"),
    Shape("gitlab-token", r"\bGR1348941[\w-]{16,}"),
    Shape("atlassian-token", r"\bATATT3[\w=-]{50,}|\bATBB[A-Za-z0-9]{24,}"),
    Shape("slack-token", r"\bxox[abeoprs](?:\.xox[abp])?-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{20,}"),
    Shape("discord-token", r"\b[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}", is_random),
    Shape("telegram-token", r"\b\d{8,10}:AA[\w-]{32,}"),
    Shape("stripe-key", r"\b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}"),
    Shape("twilio-key", r"\bSK[0-9a-f]{32}\b"),
    Shape("sendgrid-key", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    Shape("mailgun-key", r"\bkey-[0-9a-z]{32}\b|\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    Shape("mailchimp-key", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    Shape("brevo-key", r"\bxkeysib-[0-9a-f]{64}-\w{16}"),
    Shape("resend-key", r"\bre_[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}", is_random),
    Shape("npm-token", r"\bnpm_[A-Za-z0-9]{30,}"),
    Shape("pypi-token", r"\bpypi-[\w-]{50,}"),
    Shape("rubygems-key", r"\brubygems_[0-9a-f]{48}"),
    Shape("crates-token", r"\bcio[A-Za-z0-9]{32}\b", is_random),
    Shape("nuget-key", r"\boy2[a-z0-9]{43}\b"),
    Shape("clojars-token", r"\bCLOJARS_[0-9a-f]{60}"),
    Shape("anthropic-key", r"\bsk-ant-[\w-]{16,}"),
    Shape("openai-key", r"\bsk-(?:proj|svcacct|admin)-[\w-]{16,}"),
    Shape("api-key", r"\bsk-(?:[A-Za-z0-9]+-){0,3}[\w-]{16,}", is_numbered),
    Shape(
        "api-key", r"\b(?:gsk|csk|pcsk|pplx|nvapi|xai|fw|voyage|tvly|e2b|jina|sk)[-_][\w-]{20,}", is_random
    ),
    Shape("huggingface-token", r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    Shape("replicate-token", r"\br8_[A-Za-z0-9]{30,}"),
    Shape("langsmith-key", r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Shape("databricks-token", r"\bdapi[0-9a-f]{32}(?:-\d)?"),
    Shape("digitalocean-token", r"\bdo[oprt]_v1_[0-9a-f]{64}"),
    Shape("heroku-key", r"\bHRKU-[\w-]{36,}"),
    Shape("linear-key", r"\blin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}"),
    Shape("notion-token", r"\bntn_[A-Za-z0-9]{40,}|\bsecret_[A-Za-z0-9]{43}\b"),
    Shape("shopify-token", r"\bshp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{32}"),
    Shape("square-token", r"\bsq0[a-z]{3}-[\w-]{22,}|\bEAAA[\w-]{60}\b"),
    Shape("facebook-token", r"\bEAA[A-Za-z0-9]{80,}"),
    Shape("sentry-token", r"\bsntry[su]_[\w=+/-]{30,}"),
    Shape("datadog-key", r"\bdd[aps]_[A-Za-z0-9]{32,}"),
    Shape("newrelic-key", r"\bNRAK-[A-Z0-9]{27}|\bNRI[IQ]-[\w-]{32}|\bNR(?:JS|RA|SP)-[\w-]{19,}"),
    Shape("newrelic-key", r"\b[0-9a-f]{36,40}NRAL\b"),
    Shape("vault-token", r"\bhv[sbr]\.[\w-]{20,}"),
    Shape("vault-token", r"\bs\.[A-Za-z0-9]{24}\b", is_random),
    Shape("doppler-token", r"\bdp\.(?:pt|st|sa|ct|scim|audit)\.[\w.-]{40,}"),
    Shape("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    Shape("docker-token", r"\bdckr_(?:pat|oat)_[\w-]{20,}"),
    Shape("supabase-key", r"\bsbp_(?:oauth_)?[0-9a-f]{40}|\bsb_secret_[\w-]{20,}"),
    Shape("vercel-token", r"\bvc[aikpr]_[A-Za-z0-9]{24,}|\bvercel_blob_rw_[\w-]{20,}", is_random),
    Shape("netlify-token", r"\bnf[cpou]_[A-Za-z0-9]{36,}"),
    Shape("cloudflare-key", r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{100,}|\bcf(?:ut|at|k)_[A-Za-z0-9]{32,}"),
    Shape("fly-token", r"\bfo1_[\w-]{40,}|\bfm[12][ar]?_[A-Za-z0-9+/=]{60,}"),
    Shape("mapbox-token", r"\b[st]k\.eyJ[\w-]{20,}\.[\w-]{16,}"),
    Shape("jfrog-key", r"\bAKCp[0-9A-Za-z]{60,}|\bcmVmdGtu[A-Za-z0-9]{50,}"),
    Shape("grafana-token", r"\bgl(?:sa|c)_[A-Za-z0-9_+/=]{30,}"),
    Shape("postman-key", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    Shape("pulumi-token", r"\bpul-[0-9a-f]{40}"),
    Shape("onepassword-token", r"\bops_eyJ[\w+/=-]{100,}|\bA3-[A-Z0-9]{6}-[A-Z0-9-]{25,}"),
    Shape("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Shape("figma-token", r"\bfig[doru]_[\w-]{30,}"),
    Shape("hubspot-token", rf"\bpat-(?:na|eu)\d-{_UUID}"),
    Shape("dropbox-token", r"\bsl\.[\w-]{100,}"),
    Shape("planetscale-token", r"\bpscale_(?:tkn|pw|oauth)_[\w.-]{32,}"),
    Shape("sonar-token", r"\bsq[uap]_[0-9a-f]{40}"),
    Shape("asana-token", r"\b[12]/\d{16}(?:/\d{16})?:[0-9a-f]{32}"),
    Shape("tailscale-key", r"\btskey-(?:api|auth|client|scim|webhook)-[\w-]{16,}"),
    Shape("dynatrace-token", r"\bdt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Shape("contentful-token", r"\bCFPAT-[\w-]{40,}"),
    Shape("sourcegraph-token", r"\bsgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    Shape("buildkite-token", r"\bbk(?:ua|aj|ct)_[0-9a-f]{40}"),
    Shape("circleci-token", r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9]{16,}_[0-9a-f]{40}"),
    Shape("posthog-key", r"\bph[xs]_[A-Za-z0-9]{32,}"),
    Shape("neon-key", r"\bnapi_[a-z0-9]{40,}"),
    Shape("openshift-token", r"\bsha256~[\w-]{43}"),
    Shape("plaid-token", rf"\baccess-(?:sandbox|development|production)-{_UUID}"),
    Shape("launchdarkly-key", rf"\b(?:sdk|api|mob)-{_UUID}"),
    Shape("shippo-token", r"\bshippo_(?:live|test)_[0-9a-f]{40}"),
    Shape("alibaba-key", r"\bLTAI[A-Za-z0-9]{16,24}\b", is_random),
    Shape("adafruit-key", r"\baio_[A-Za-z0-9]{28}\b"),
    Shape("password-hash", r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|\$argon2(?:id?|d)\$[\w=,$+/.-]{40,}"),
    Shape("password-hash", r"\$(?:5|6|y|7)\$[./A-Za-z0-9=$,]{20,}\$?[./A-Za-z0-9]{40,}"),
    # What issuers have in common: letters, perhaps a stage, a separator, then no word.
    Shape(
        "api-key",
        r"\b[A-Za-z][A-Za-z0-9]{1,11}[-_](?:live|test|prod|secret|pat|sk|key|token|api|v\d)[-_][A-Za-z0-9]{20,}\b",
        is_random,
    ),
)

_NAMED_FLAG = (
    r"(?:[\w]+-)*(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|access-?key|secret-?key|"
    r"auth-?key|credentials?)"
)

PLACES: Final = (
    Shape("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})"),
    Shape("discord-webhook", r"discord(?:app)?\.com/api/webhooks/\d+/([\w-]{20,})"),
    Shape("teams-webhook", r"\.webhook\.office\.com/webhookb2/([\w@/-]{30,})"),
    Shape("sentry-dsn", r"https?://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]+/\d+"),
    Shape("url-login", r"[a-z]://[^\s:/@\"'<>]{0,128}:([^\s/\"'<>\\]{1,200})@", is_given),
    Shape("url-login", r"[a-z]://([\w~.-]{20,})@", is_mixed),
    Shape(
        "url-parameter",
        r"[?&;](?:[\w-]*(?:token|secret|api_?key|passw(?:or)?d|pwd|signature|credential)|sig|key|auth|sas|code)"
        r"=([^&\s\"'<>#\\)]{8,})",
        is_mixed,
    ),
    Shape("azure-key", r"(?:account|sharedaccess)key\s?=\s?([A-Za-z0-9+/]{20,}={0,2})"),
    Shape("okta-token", r"\bssws\s+([\w-]{30,})"),
    Shape(
        "authorization",
        r"\bauthorization[\\\"'`\])]{0,4}\s{0,3}[:=,]\s{0,3}[\\\"'`]{0,4}"
        r"(?:[a-z]{2,12}\s+)?([A-Za-z0-9+/=._~:-]{8,})",
        is_mixed,
    ),
    Shape("authorization", r"\b(?:bearer|basic)\s+([A-Za-z0-9+/=._~-]{8,})", is_mixed),
    Shape("cookie", r"\b(?:set-)?cookie[\\\"'`]{0,4}\s{0,3}[:=,]\s{0,3}[\\\"'`]{0,4}([\w.%-]{1,64}=[^\r\n\"'`\\]{8,})", is_mixed),
    Shape("command-line", rf"[\s\"'`]--?{_NAMED_FLAG}(?:=|\s{{1,2}})[\\\"']{{0,2}}([^\s\"'`\\]{{4,}})", is_given),
    Shape("netrc", r"\blogin\s+\S{1,100}\s+password\s+([^\s\"\\]{4,})", is_given),
    Shape("password", r"\b(?:identified\s+by|with\s+(?:encrypted\s+)?password|set\s+password\s*=?)\s+'([^'\"\n\\]{4,})'", is_given),
    Shape("password", r"\b(?:password|passphrase)\s+(?:is|was)\s*:?\s+[\"'`]?([^\s\"'`\\]{6,})", is_mixed),
    Shape("password", r"<[\w:.-]*(?:password|passphrase|secret|token|api-?key)[\w:.-]*>([^<\s\"\\]{4,})</", is_given),
)  # fmt: skip

# Commands whose short options take passwords. They reach far along a line, so they are looked for apart.
COMMANDS: Final = (
    Shape("secret", r"(?:^|\n|\\n)[ \t]*(?:env|arg|setenv|set -[gx]+|run export)\s+\S*(?:password|passwd|pwd|token|secret|key|credentials?|pat)\w{0,12}[ \t]+[\"']?([^\s\"'=\\]{6,}[^\s\"'\\]*)", is_mixed),
    Shape("curl-login", r"\bcurl\b[^\n]{0,400}?\s(?:-u|--user|--proxy-user)[\s=]?[\"']?[^\s:\"'/]{1,64}:([^\s\"'\\]{3,})", is_given),
    Shape("command-line", r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,200}?\s-p([^\s\"'=\\-][^\s\"'\\]{3,})", is_given),
    Shape("command-line", r"\bsshpass\s+-p\s?[\"']?([^\s\"'\\]{4,})", is_given),
    Shape("command-line", r"\bredis-cli\b[^\n|;]{0,200}?\s-a\s+[\"']?([^\s\"'\\]{4,})", is_given),
    Shape("command-line", r"\b(?:docker|podman|helm|oc|az|npm) (?:registry )?login\b[^\n|;]{0,200}?\s-p[\s=][\"']?([^\s\"'\\]{4,})", is_given),
)  # fmt: skip
