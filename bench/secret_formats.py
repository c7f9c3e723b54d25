"""Secrets as their issuers make them, and the places they leak from, for `bench.redaction` and the tests.

Values are random and put together from parts, so nothing here looks like a secret to a scanner.
"""

# ruff: noqa: E501  one format a line

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final

HEX: Final = "0123456789abcdef"
ALNUM: Final = ascii_letters + digits
LOWER: Final = ascii_lowercase + digits
UPPER: Final = ascii_uppercase + digits
WEB: Final = ALNUM + "-_"
BASE64: Final = ALNUM + "+/"
SIGNS: Final = ALNUM + "!#%^*-_+=."


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of secret: what makes one, the name it has in settings, and whether it announces itself alone."""

    name: str
    variable: str
    make: Callable[[Random], str]
    alone: bool = True


def some(alphabet: str, length: int) -> Callable[[Random], str]:
    """Return a maker of random strings over an alphabet, with a letter and a digit where it has both."""

    def make(random: Random) -> str:
        text = "".join(random.choices(alphabet, k=length))
        while length >= 8 and set(alphabet) > set(HEX) and (text.isalpha() or text.isdigit()):
            text = "".join(random.choices(alphabet, k=length))
        return text

    return make


def joined(*parts: str | Callable[[Random], str]) -> Callable[[Random], str]:
    """Return a maker that joins literal parts and makers."""
    return lambda random: "".join(part if isinstance(part, str) else part(random) for part in parts)


def uuid(random: Random) -> str:
    return "-".join(some(HEX, size)(random) for size in (8, 4, 4, 4, 12))


def jwt(random: Random) -> str:
    """Return a token of three parts, as RFC 7519 writes them."""
    head = {"alg": "HS256", "typ": "JWT"}
    body = {"sub": some(digits, 10)(random), "iat": random.randrange(10**9)}
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, body)
    ]
    return ".".join([*parts, some(WEB, 43)(random)])


def pem(kind: str, dash: str = "-" * 5) -> Callable[[Random], str]:
    """Return a maker of a private key over several lines."""

    def make(random: Random) -> str:
        lines = [some(BASE64, 64)(random) for _ in range(12)]
        return "\n".join(
            [f"{dash}BEGIN {kind}{dash}", *lines, some(BASE64, 22)(random) + "==", f"{dash}END {kind}{dash}"]
        )

    return make


FORMATS: Final = (
    Format("aws-access-key-id", "AWS_ACCESS_KEY_ID", joined("AK", "IA", some(UPPER, 16))),
    Format("aws-session-key-id", "AWS_ACCESS_KEY_ID", joined("AS", "IA", some(UPPER, 16))),
    Format("aws-secret", "AWS_SECRET_ACCESS_KEY", some(BASE64, 40), alone=False),
    Format("aws-session-token", "AWS_SESSION_TOKEN", joined("IQoJb3", some(BASE64, 300)), alone=False),
    Format("gcp-api-key", "GOOGLE_API_KEY", joined("AI", "za", some(WEB, 35))),
    Format("google-client-secret", "GOOGLE_CLIENT_SECRET", joined("GOC", "SPX-", some(WEB, 28))),
    Format("google-access-token", "access_token", joined("ya", "29.", some(WEB, 120))),
    Format("google-refresh-token", "refresh_token", joined("1/", "/0", some(WEB, 60))),
    Format("azure-storage-key", "AZURE_STORAGE_KEY", joined(some(BASE64, 86), "=="), alone=False),
    Format("azure-client-secret", "AZURE_CLIENT_SECRET", joined(some(ALNUM, 3), "8Q~", some(ALNUM, 34))),
    Format("azure-devops-pat", "AZURE_DEVOPS_EXT_PAT", some(LOWER, 52), alone=False),
    Format("azure-cognitive", "AZURE_OPENAI_API_KEY", some(HEX, 32), alone=False),
    Format("github-classic", "GITHUB_TOKEN", joined("gh", "p_", some(ALNUM, 36))),
    Format("github-oauth", "GH_TOKEN", joined("gh", "o_", some(ALNUM, 36))),
    Format("github-app", "GITHUB_TOKEN", joined("gh", "s_", some(ALNUM, 36))),
    Format("github-fine", "GITHUB_PAT", joined("github", "_pat_", some(ALNUM, 22), "_", some(ALNUM, 59))),
    Format("gitlab-pat", "GITLAB_TOKEN", joined("gl", "pat-", some(WEB, 20))),
    Format("gitlab-runner", "RUNNER_TOKEN", joined("gl", "rt-", some(WEB, 20))),
    Format("bitbucket", "BITBUCKET_APP_PASSWORD", joined("AT", "BB", some(ALNUM, 32))),
    Format("atlassian", "JIRA_API_TOKEN", joined("ATA", "TT3xFfGF0", some(WEB, 170), "=", some(UPPER, 8))),
    Format("slack-bot", "SLACK_BOT_TOKEN", joined("xo", "xb-", some(digits, 12), "-", some(digits, 12), "-", some(ALNUM, 24))),
    Format("slack-user", "SLACK_TOKEN", joined("xo", "xp-", some(digits, 12), "-", some(digits, 12), "-", some(HEX, 32))),
    Format("slack-app", "SLACK_APP_TOKEN", joined("xa", "pp-1-A", some(UPPER, 10), "-", some(digits, 13), "-", some(HEX, 64))),
    Format("slack-webhook", "SLACK_WEBHOOK_URL", joined("https://hooks.", "slack.com/services/T", some(UPPER, 8), "/B", some(UPPER, 8), "/", some(ALNUM, 24))),
    Format("discord-bot", "DISCORD_TOKEN", joined("M", some(ALNUM, 23), ".", some(WEB, 6), ".", some(WEB, 38))),
    Format("discord-webhook", "DISCORD_WEBHOOK", joined("https://discord", ".com/api/webhooks/", some(digits, 18), "/", some(WEB, 68))),
    Format("telegram-bot", "TELEGRAM_BOT_TOKEN", joined(some(digits, 10), ":A", "A", some(WEB, 33))),
    Format("stripe-live", "STRIPE_SECRET_KEY", joined("sk", "_live_", some(ALNUM, 24))),
    Format("stripe-restricted", "STRIPE_KEY", joined("rk", "_test_", some(ALNUM, 99))),
    Format("stripe-webhook", "STRIPE_WEBHOOK_SECRET", joined("wh", "sec_", some(ALNUM, 32))),
    Format("twilio-auth", "TWILIO_AUTH_TOKEN", some(HEX, 32), alone=False),
    Format("twilio-key", "TWILIO_API_KEY", joined("S", "K", some(HEX, 32))),
    Format("sendgrid", "SENDGRID_API_KEY", joined("S", "G.", some(WEB, 22), ".", some(WEB, 43))),
    Format("mailgun", "MAILGUN_API_KEY", joined("ke", "y-", some(HEX, 32))),
    Format("mailchimp", "MAILCHIMP_API_KEY", joined(some(HEX, 32), "-us", "12")),
    Format("brevo", "BREVO_API_KEY", joined("xkey", "sib-", some(HEX, 64), "-", some(ALNUM, 16))),
    Format("postmark", "POSTMARK_SERVER_TOKEN", uuid, alone=False),
    Format("resend", "RESEND_API_KEY", joined("re", "_", some(ALNUM, 8), "_", some(ALNUM, 24))),
    Format("npm", "NPM_TOKEN", joined("np", "m_", some(ALNUM, 36))),
    Format("npm-legacy", "//registry.example.org/:_authToken", uuid, alone=False),
    Format("pypi", "TWINE_PASSWORD", joined("py", "pi-AgEIcHlwaS5vcmc", some(WEB, 120))),
    Format("rubygems", "GEM_HOST_API_KEY", joined("ruby", "gems_", some(HEX, 48))),
    Format("crates", "CARGO_REGISTRY_TOKEN", joined("ci", "o", some(ALNUM, 32))),
    Format("nuget", "NUGET_API_KEY", joined("oy", "2", some(LOWER, 43))),
    Format("openai", "OPENAI_API_KEY", joined("s", "k-", some(ALNUM, 48))),
    Format("openai-project", "OPENAI_API_KEY", joined("s", "k-proj-", some(WEB, 120))),
    Format("anthropic", "ANTHROPIC_API_KEY", joined("s", "k-ant-api03-", some(WEB, 93), "AA")),
    Format("openrouter", "OPENROUTER_API_KEY", joined("s", "k-or-v1-", some(HEX, 64))),
    Format("groq", "GROQ_API_KEY", joined("gs", "k_", some(ALNUM, 52))),
    Format("xai", "XAI_API_KEY", joined("xa", "i-", some(ALNUM, 80))),
    Format("mistral", "MISTRAL_API_KEY", some(ALNUM, 32), alone=False),
    Format("cohere", "COHERE_API_KEY", some(ALNUM, 40), alone=False),
    Format("huggingface", "HF_TOKEN", joined("h", "f_", some(ascii_letters, 34))),
    Format("replicate", "REPLICATE_API_TOKEN", joined("r", "8_", some(ALNUM, 37))),
    Format("wandb", "WANDB_API_KEY", some(HEX, 40), alone=False),
    Format("pinecone", "PINECONE_API_KEY", joined("pc", "sk_", some(ALNUM, 6), "_", some(ALNUM, 63))),
    Format("langsmith", "LANGSMITH_API_KEY", joined("ls", "v2_pt_", some(HEX, 32), "_", some(HEX, 10))),
    Format("databricks", "DATABRICKS_TOKEN", joined("da", "pi", some(HEX, 32))),
    Format("digitalocean", "DIGITALOCEAN_TOKEN", joined("do", "p_v1_", some(HEX, 64))),
    Format("heroku", "HEROKU_API_KEY", uuid, alone=False),
    Format("heroku-new", "HEROKU_API_KEY", joined("HR", "KU-AA", some(WEB, 58))),
    Format("linear", "LINEAR_API_KEY", joined("lin", "_api_", some(ALNUM, 40))),
    Format("notion", "NOTION_TOKEN", joined("nt", "n_", some(ALNUM, 46))),
    Format("notion-old", "NOTION_KEY", joined("sec", "ret_", some(ALNUM, 43))),
    Format("shopify", "SHOPIFY_ACCESS_TOKEN", joined("shp", "at_", some(HEX, 32))),
    Format("square", "SQUARE_ACCESS_TOKEN", joined("sq0", "atp-", some(WEB, 22))),
    Format("paypal", "PAYPAL_CLIENT_SECRET", joined("E", some(WEB, 79)), alone=False),
    Format("sentry-dsn", "SENTRY_DSN", joined("https://", some(HEX, 32), "@o", some(digits, 6), ".ingest.sentry.io/", some(digits, 7))),
    Format("sentry-token", "SENTRY_AUTH_TOKEN", joined("sntr", "yu_", some(HEX, 64))),
    Format("datadog-api", "DD_API_KEY", some(HEX, 32), alone=False),
    Format("datadog-app", "DD_APP_KEY", some(HEX, 40), alone=False),
    Format("newrelic-user", "NEW_RELIC_API_KEY", joined("NR", "AK-", some(UPPER, 27))),
    Format("newrelic-license", "NEW_RELIC_LICENSE_KEY", joined(some(HEX, 36), "NR", "AL")),
    Format("vault", "VAULT_TOKEN", joined("hv", "s.", some(WEB, 90))),
    Format("vault-old", "VAULT_TOKEN", joined("s", ".", some(ALNUM, 24))),
    Format("doppler", "DOPPLER_TOKEN", joined("dp", ".st.prd.", some(ALNUM, 43))),
    Format("terraform", "TF_API_TOKEN", joined(some(ALNUM, 14), ".atlas", "v1.", some(ALNUM, 67))),
    Format("dockerhub", "DOCKERHUB_TOKEN", joined("dckr", "_pat_", some(WEB, 27))),
    Format("supabase", "SUPABASE_ACCESS_TOKEN", joined("sb", "p_", some(HEX, 40))),
    Format("vercel", "VERCEL_TOKEN", some(ALNUM, 24), alone=False),
    Format("netlify", "NETLIFY_AUTH_TOKEN", joined("nf", "p_", some(ALNUM, 40))),
    Format("cloudflare-token", "CLOUDFLARE_API_TOKEN", some(WEB, 40), alone=False),
    Format("cloudflare-global", "CF_API_KEY", some(HEX, 37), alone=False),
    Format("fly", "FLY_API_TOKEN", joined("fm", "2_", some(BASE64, 160))),
    Format("algolia", "ALGOLIA_ADMIN_KEY", some(HEX, 32), alone=False),
    Format("mapbox", "MAPBOX_TOKEN", joined("sk", ".eyJ", some(ALNUM, 60), ".", some(WEB, 22))),
    Format("okta", "OKTA_API_TOKEN", joined("00", some(WEB, 40)), alone=False),
    Format("auth0", "AUTH0_CLIENT_SECRET", some(WEB, 64), alone=False),
    Format("jfrog", "ARTIFACTORY_API_KEY", joined("AK", "Cp8", some(ALNUM, 69))),
    Format("grafana", "GRAFANA_TOKEN", joined("gl", "sa_", some(ALNUM, 32), "_", some(HEX, 8))),
    Format("postman", "POSTMAN_API_KEY", joined("PM", "AK-", some(HEX, 24), "-", some(HEX, 34))),
    Format("pulumi", "PULUMI_ACCESS_TOKEN", joined("pu", "l-", some(HEX, 40))),
    Format("airtable", "AIRTABLE_API_KEY", joined("pa", "t", some(ALNUM, 14), ".", some(HEX, 64))),
    Format("figma", "FIGMA_TOKEN", joined("fig", "d_", some(WEB, 40))),
    Format("hubspot", "HUBSPOT_TOKEN", joined("pa", "t-na1-", uuid)),
    Format("dropbox", "DROPBOX_TOKEN", joined("s", "l.", some(WEB, 136))),
    Format("planetscale", "PLANETSCALE_TOKEN", joined("psc", "ale_tkn_", some(WEB, 43))),
    Format("sonarqube", "SONAR_TOKEN", joined("sq", "p_", some(HEX, 40))),
    Format("asana", "ASANA_TOKEN", joined("1", "/12", some(digits, 14), ":", some(HEX, 32))),
    Format("tailscale", "TS_AUTHKEY", joined("ts", "key-auth-k", some(ALNUM, 12), "CNTRL-", some(ALNUM, 32))),
    Format("snyk", "SNYK_TOKEN", uuid, alone=False),
    Format("codecov", "CODECOV_TOKEN", uuid, alone=False),
    Format("circleci", "CIRCLE_TOKEN", some(HEX, 40), alone=False),
    Format("launchdarkly", "LAUNCHDARKLY_SDK_KEY", joined("sd", "k-", uuid)),
    Format("plaid", "PLAID_SECRET", some(HEX, 30), alone=False),
    Format("firebase-fcm", "FCM_SERVER_KEY", joined("AAAA", some(WEB, 7), ":", some(WEB, 140)), alone=False),
    Format("age", "SOPS_AGE_KEY", joined("AGE-SEC", "RET-KEY-1", some(UPPER, 58))),
    Format("jwt", "SUPABASE_SERVICE_ROLE_KEY", jwt),
    Format("bcrypt", "ADMIN_PASSWORD_HASH", joined("$2", "b$12$", some(ALNUM + "./", 53))),
    Format("password", "DB_PASSWORD", some(SIGNS, 14), alone=False),
    Format("password-short", "SMTP_PASSWORD", some(ALNUM, 9), alone=False),
    Format("secret-key-base", "SECRET_KEY_BASE", some(HEX, 128), alone=False),
    Format("django-secret", "DJANGO_SECRET_KEY", some(SIGNS, 50), alone=False),
    Format("encryption-key", "ENCRYPTION_KEY", joined(some(BASE64, 43), "="), alone=False),
    Format("jwt-secret", "JWT_SECRET", some(ALNUM, 32), alone=False),
    Format("session-secret", "SESSION_SECRET", some(HEX, 24), alone=False),
    Format("client-secret", "OAUTH_CLIENT_SECRET", some(ALNUM, 32), alone=False),
    Format("webhook-secret", "GITHUB_WEBHOOK_SECRET", some(HEX, 40), alone=False),
    Format("auth-token", "INTERNAL_AUTH_TOKEN", some(ALNUM, 20), alone=False),
    Format("api-key", "PAYMENTS_API_KEY", some(LOWER, 24), alone=False),
)  # fmt: skip

BLOCKS: Final = (
    ("pem-rsa", pem("RSA PRIVATE KEY")),
    ("pem-pkcs8", pem("PRIVATE KEY")),
    ("pem-ec", pem("EC PRIVATE KEY")),
    ("pem-encrypted", pem("ENCRYPTED PRIVATE KEY")),
    ("openssh", pem("OPENSSH PRIVATE KEY")),
    ("pgp", pem("PGP PRIVATE KEY BLOCK")),
)

# A secret beside its name: NAME, camelName and name are the variable's three spellings.
NAMED: Final = (
    ("env", "{NAME}={value}\n"),
    ("export", "export {NAME}='{value}'\n"),
    ("dotenv quoted", '{NAME}="{value}"\n'),
    ("dockerfile", "ENV {NAME} {value}\n"),
    ("compose", "    environment:\n      {NAME}: {value}\n"),
    ("yaml", '{name}: "{value}"\n'),
    ("yaml bare", "  {name}: {value}\n"),
    ("json", '{{"{name}": "{value}", "retries": 3}}\n'),
    ("json camel", '{{"{camelName}":"{value}"}}\n'),
    ("escaped json", '{{"body": "{{\\"{name}\\": \\"{value}\\"}}"}}\n'),
    ("toml", '[service]\n{name} = "{value}"\n'),
    ("ini", "{name} = {value}\n"),
    ("python", '{NAME} = "{value}"\n'),
    ("python keyword", 'client = Client({name}="{value}", timeout=3)\n'),
    ("python dict", 'os.environ["{NAME}"] = "{value}"\n'),
    ("javascript", "const {camelName} = '{value}';\n"),
    ("typescript", "  private readonly {camelName}: string = '{value}';\n"),
    ("go", '\t{camelName} := "{value}"\n'),
    ("java", 'private static final String {NAME} = "{value}";\n'),
    ("ruby", '  {name}: "{value}",\n'),
    ("php", "    '{name}' => '{value}',\n"),
    ("terraform", '  {name} = "{value}"\n'),
    ("diff", '+    {name} = "{value}"\n'),
    ("log", "2026-02-03T10:11:12Z INFO starting with {name}={value} region=eu\n"),
    ("tool result", '{{"type":"tool_result","content":"PORT=80\\n{NAME}={value}\\nDEBUG=1"}}\n'),
)

# One without its name; only for those that announce themselves.
ALONE: Final = (
    ("prose", "I used {value} and it failed again.\n"),
    ("log line", "ERROR request to upstream with {value} was refused (401)\n"),
    ("argument", 'connect("{value}")\n'),
    ("list", '["{value}", 1]\n'),
    ("parameter", "GET /v1/items?limit=3&t={value}&page=2 HTTP/1.1\n"),
)

# Known by its place alone: `{value}` is a password or token of no format.
PLACED: Final = (
    ("bearer header", "curl -s -H 'Authorization: Bearer {value}' https://api.example.org\n", some(ALNUM, 32)),
    ("bearer json", '{{"Authorization": "Bearer {value}"}}\n', some(WEB, 40)),
    ("basic header", "Authorization: Basic {value}\n", lambda r: base64.b64encode(("svc:" + some(ALNUM, 14)(r)).encode()).decode()),
    ("token header", "Authorization: token {value}\n", some(HEX, 40)),
    ("api key header", "X-Api-Key: {value}\n", some(ALNUM, 32)),
    ("private token header", "PRIVATE-TOKEN: {value}\n", some(WEB, 20)),
    ("cookie", "Cookie: session={value}; theme=dark\n", some(HEX, 32)),
    ("set-cookie", "Set-Cookie: sid={value}; Path=/; HttpOnly\n", some(ALNUM, 40)),
    ("postgres url", "DATABASE_URL=postgres://app:{value}@db.example.org:5432/app\n", some(ALNUM, 16)),
    ("mongodb url", 'uri: "mongodb+srv://root:{value}@cluster0.example.net/?retryWrites=true"\n', some(WEB, 18)),
    ("redis url", "redis://:{value}@cache:6379/0\n", some(ALNUM, 20)),
    ("amqp url", "amqps://user:{value}@mq.example.org/vhost\n", some(ALNUM, 12)),
    ("git remote", "origin  https://oauth2:{value}@git.example.org/a/b.git (push)\n", some(WEB, 20)),
    ("git remote token", "git clone https://{value}@git.example.org/a/b.git\n", some(HEX, 40)),
    ("azure connection", "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={value};EndpointSuffix=core.windows.net\n", joined(some(BASE64, 86), "==")),
    ("service bus", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={value}\n", joined(some(BASE64, 43), "=")),
    ("sas", "https://acme.blob.core.windows.net/c/f?sv=2022-11-02&se=2026-01-01&sr=b&sp=r&sig={value}\n", joined(some(ALNUM, 40), "%3D")),
    ("sql server", "Server=db;Database=app;User Id=sa;Password={value};Encrypt=true\n", some(ALNUM, 14)),
    ("odbc", "DRIVER=ODBC;SERVER=db;UID=app;PWD={value};\n", some(ALNUM, 12)),
    ("presigned", "https://b.s3.amazonaws.com/k?X-Amz-Credential=a%2F2026&X-Amz-Signature={value}\n", some(HEX, 64)),
    ("query token", "https://example.org/cb?access_token={value}&state=1\n", some(WEB, 36)),
    ("curl -u", "curl -u admin:{value} https://example.org/api\n", some(ALNUM, 14)),
    ("--password", "mytool login --user ann --password {value} --verbose\n", some(ALNUM, 12)),
    ("--token=", "deploy --token={value} --env prod\n", some(ALNUM, 32)),
    ("mysql -p", "mysql -h db -uroot -p{value} shop\n", some(ALNUM, 12)),
    ("sshpass", "sshpass -p '{value}' ssh deploy@host\n", some(ALNUM, 12)),
    ("redis-cli", "redis-cli -h cache -a {value} ping\n", some(ALNUM, 16)),
    ("docker login", "docker login -u ann -p {value} registry.example.org\n", some(ALNUM, 16)),
    ("pgpassword", "PGPASSWORD={value} psql -h db -U app\n", some(ALNUM, 12)),
    ("netrc", "machine git.example.org login ann password {value}\n", some(ALNUM, 16)),
    ("sql", "CREATE USER app IDENTIFIED BY '{value}';\n", some(ALNUM, 14)),
    ("xml", "<settings><password>{value}</password></settings>\n", some(ALNUM, 14)),
    ("prose", "the password is {value} for staging\n", some(ALNUM, 12)),
    ("kubernetes", "apiVersion: v1\nkind: Secret\ndata:\n  db-password: {value}\n", lambda r: base64.b64encode(some(ALNUM, 15)(r).encode()).decode()),
    ("dockerconfig", '{{"auths": {{"r.example.org": {{"auth": "{value}"}}}}}}\n', lambda r: base64.b64encode(("ann:" + some(ALNUM, 20)(r)).encode()).decode()),
    ("npmrc", "//registry.example.org/:_password={value}\n", lambda r: base64.b64encode(some(ALNUM, 15)(r).encode()).decode()),
    ("pip", "index-url = https://user:{value}@packages.example.org/simple\n", some(ALNUM, 18)),
    ("odbc words", 'Open("Provider=SQLOLEDB;User ID=app; " & "Password ={value};Data Source=db;")\n', some(ascii_lowercase, 9)),
    ("ini pair", "[mail]\nUSERNAME=ann\nMAIL_PASSWORD={value}\n", some(ascii_lowercase, 9)),
    ("gradle", "credentials {{\n  username 'ann'\n  password '{value}'\n}}\n", some(ascii_lowercase, 8)),
    ("network credential", 'new NetworkCredential("ann@example.org", "{value}");\n', some(ascii_lowercase, 12)),
    ("directory entry", 'new DirectoryEntry("LDAP://example.org",\n    "ann",\n    "{value}");\n', some(ascii_lowercase, 8)),
    ("app.config", '<add key="MailPassword" value="{value}"/>\n', some(SIGNS, 12)),
    ("psexec", "psexec \\\\db -u ann -p {value} cmd\n", some(ascii_lowercase, 7)),
    ("prose quoted", "the password for user 'ann' is '{value}'.\n", some(ascii_lowercase, 8)),
    ("jwt in yaml", "jwt:\n  secret: '{value}'\n  ttl: 60\n", some(HEX, 32)),
    ("terraform variable", 'variable "okta_token" {{\n  default = "{value}"\n}}\n', some(WEB, 42)),
    ("gradle field", "buildConfigField 'String', 'API_KEY', '\"{value}\"'\n", some(HEX, 32)),
    ("aligned", 'apiKey:            "{value}",\n', some(HEX, 32)),
    ("jenkins setup", "Please use the following password to proceed to installation:\n\n{value}\n", some(HEX, 32)),
    ("jenkins crumb", "-H 'Jenkins-Crumb:{value}'\n", some(HEX, 32)),
    ("sonar login", "sonar-scanner -Dsonar.login={value}\n", some(HEX, 40)),
    ("code climate", "  CC_TEST_REPORTER_ID: {value}\n", some(HEX, 64)),
    ("postmark", 'postmark: "{value}",\n', uuid),
    ("bootstrap token", "--tls-bootstrap-token {value}\n", joined(some(LOWER, 6), ".", some(LOWER, 16))),
    ("unseal key", "Unseal Key 2: {value}\n", some(BASE64, 44)),
    ("truenas", '"params": ["8-{value}"]\n', some(ALNUM, 64)),
    ("thingsboard", "https://thingsboard.cloud/api/v1/{value}/telemetry\n", some(LOWER, 20)),
    ("teams", "https://outlook.office.com/webhook/{value}\n", joined(uuid, "@", uuid, "/IncomingWebhook/", some(HEX, 32))),
    ("azure devops", "{value}\n", joined(some(ALNUM, 76), "AZ", "DO", some(ALNUM, 4))),
    ("dependency track", "{value}\n", joined("od", "t_", some(ALNUM, 32))),
    ("salesforce", "{value}\n", joined("00", some(ALNUM, 13), "!", some(ALNUM, 96))),
    ("twitch", "{value}\n", joined("li", "ve_126031192_", some(ALNUM, 30))),
    ("grafana", "{value}\n", joined("eyJr", "Ijoi", some(WEB, 80))),
    ("vault", "{value}\n", joined("s.CA", "ESI", some(WEB, 90))),
    ("new relic", "license: {value}\n", joined("eu01xx", some(HEX, 34), "NR", "AL")),
    ("md5crypt", "root:{value}:0\n", joined("$1", "$", some(ALNUM, 8), "$", some(ALNUM, 22))),
    ("kerberos", "{value}\n", joined("$krb5", "asrep$23$user@example.org:", some(HEX, 32), "$", some(HEX, 80))),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leak:
    """A text with a secret in it: what must not survive, the format's name and the context's."""

    text: str
    parts: tuple[str, ...]
    format: str
    context: str


def is_held_out(name: str) -> bool:
    """Whether a format is of the third that the values beside names were not designed on."""
    return hashlib.sha256(name.encode()).digest()[0] % 3 == 0


def leaks(seed: int, rounds: int = 1) -> Iterator[Leak]:
    """Yield every format in every context that fits it, with values of a seed."""
    random = Random(seed)
    for _ in range(rounds):
        for form in FORMATS:
            for context, template in (*NAMED, *(ALONE if form.alone else ())):
                value = form.make(random)
                yield Leak(_filled(template, form.variable, value), (_core(value),), form.name, context)
        for name, make in BLOCKS:
            yield from _blocks(name, make(random))
        for context, template, make in PLACED:
            value = make(random)
            yield Leak(template.format(value=value), (value,), "of no format", context)


def _core(value: str) -> str:
    """Return what of a value is secret: of a URL its login or its last part, else all of it."""
    if value.startswith("https://"):
        return value[8:].split("@")[0] if "@" in value else value.rsplit("/", 1)[1]
    return value


def _filled(template: str, variable: str, value: str) -> str:
    name = variable.lower()
    camel = "".join(part.capitalize() if index else part for index, part in enumerate(name.split("_")))
    return template.format(NAME=variable, name=name, camelName=camel, value=value)


def _blocks(name: str, block: str) -> Iterator[Leak]:
    lines = tuple(block.split("\n")[1:-1])
    contexts = {
        "file": block + "\n",
        "json": json.dumps({"type": "service_account", "private_key": block + "\n", "client_id": "1"}) + "\n",
        "json in json": json.dumps({"content": json.dumps({"key": block})}) + "\n",
        "yaml": "key: |\n" + "".join(f"  {line}\n" for line in block.split("\n")) + "next: 1\n",
        "diff": "".join(f"+{line}\n" for line in block.split("\n")) + " after\n",
        "quoted": "".join(f"> {line}\n" for line in block.split("\n")),
        "python": "KEY = (\n" + "".join(f'    "{line}\\n"\n' for line in block.split("\n")) + ")\n",
        "cut off": "\n".join(block.split("\n")[:6]) + "\n",
    }
    for context, text in contexts.items():
        kept = lines[:5] if context == "cut off" else lines
        yield Leak(text, kept, name, f"block, {context}")
