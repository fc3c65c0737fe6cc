"""Secrets planted in arguments, wherever a model may put them."""

import json

from hypothesis import strategies as st

MARK = "QuXj"
"""Part of every planted secret and of nothing else: no pseudonym has a vowel."""

KEYS = (
    *("password", "passwd", "pwd", "PASSWORD", "dbPassword", "DB_PASSWORD", "user-password"),
    *("secret", "client_secret", "clientSecret", "token", "access_token", "accessToken"),
    *("refresh_token", "api_key", "apikey", "apiKey", "API-KEY", "X-Api-Key", "authorization"),
    *("Authorization", "cookie", "set-cookie", "Set-Cookie", "private_key", "privateKey"),
    *("credential", "credentials", "session", "session_id", "sessionId", "SESSION_TOKEN"),
    *("auth", "aws_secret_access_key", "passphrase", "pAsSwOrD", "x_csrf_token", "jwt"),
)
PLAIN_KEYS = (
    *("max_tokens", "maxTokens", "token_count", "tokens", "input_tokens", "next_page_token"),
    *("pageToken", "tokenizer", "secretary", "author", "key", "keyboard", "primary_key", "path"),
    *("password_policy", "secret_name", "cookie_path", "token_type", "expires_in", "passed"),
)

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
words = st.text(LETTERS, max_size=12)
keyed = st.builds(lambda *parts: "".join(parts), st.text(max_size=8), st.just(MARK), st.text())
"""A secret of any characters, for a key of a mapping."""
typed = st.builds(
    lambda *parts: "".join(parts),
    words,
    st.just(MARK),
    st.text(LETTERS + "!@#%^*()+-.,:;/?_~=", max_size=12),
)
"""A secret as somebody types it into a command line."""

FORMS = (
    *("sk-proj-{}0123456789", "sk-ant-api03-{}-abc_def", "ghp_{}0123456789abcdef"),
    *("gho_{}0123456789abcdef", "github_pat_{}_0123456789", "glpat-{}01234567-89"),
    *("xoxb-{}-0123456789", "xoxp-{}0123456789", "AIza{}0123456789abcdef-0123_45"),
    *("eyJhbGciOi.eyJ{}.c2lnbmF0dXJl-_", "eyJ{}.eyJzdWIi.c2ln", "eyJhbGci.eyJzdWIi.c2{}"),
    *("Bearer {}", "bearer {}.abc", "https://bob:{}@example.org/a", "postgres://u:{}@db:5432/x"),
    "-----BEGIN RSA PRIVATE KEY-----\nMII{}\nabc=\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMII{}\n",
    *("https://hooks.slack.com/services/T0/B0/{}", "https://discord.com/api/webhooks/1/{}"),
    *("123456789:AA{}0123456789abcdef01234567", "https://a.b/c?sv=1&sig={}%3D&se=2"),
    *("sk_live_{}0123456789", "npm_{}0123456789abcdef0123", "ya29.{}-0123456789"),
)
forms = st.builds(
    lambda form, word: form.format(MARK + word), st.sampled_from(FORMS), words
) | st.builds(
    lambda kind, rest: f"{kind}{MARK.upper()}{rest}",
    st.sampled_from(["AKIA", "ASIA"]),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=12, max_size=12),
)

LINES = (
    *("mysql -u root --password {} -h db", "tool --api-key={} go", "PASSWORD={} ./run"),
    *("export DB_PASSWORD='{}'; ./run", 'PGPASSWORD="{}" psql -c "select 1"'),
    *("curl -H 'Authorization: Bearer {}' https://a.b", "curl -H 'Authorization: Basic {}' a.b"),
    *('curl -H "X-Api-Key: {}" https://a.b', "curl -u bob:{} https://a.b", "Cookie: a=1; b={}"),
    *("curl https://a.b/c?page=2&access_token={} -o d", "curl -d 'user=bob&password={}' a.b"),
    *("""curl -d '{{"user": "bob", "password": "{}"}}' a.b""", "password: {}\nuser: bob"),
    *("password: one two {}\nuser: bob", "the API key: {} is used", "auth: Basic {}"),
    *("['--token', '{}']", 'client_secret => "{}"', "token == '{}'", "{{secret: {}, a: 1}}"),
    *("mysql -u root -p{} -h db", "sshpass -p {} ssh a.b", "openssl enc -k {} -in a"),
    *("credentials = {{'user': ['bob', '{}']}} | other", 'echo "{{\\"api_key\\": \\"{}\\"}}"'),
)
lines = st.builds(lambda line, secret: line.format(secret), st.sampled_from(LINES), typed)
in_text = st.builds(
    lambda before, secret, after: f"{before}{secret}{after}",
    st.sampled_from(["", "see ", "a\nb\n", '"', "x=", "(", "é: "]),
    forms,
    st.sampled_from(["", " and so on", "\nmore", '"', ")"]),
)

secrets = (
    st.builds(lambda key, secret: {key: secret}, st.sampled_from(KEYS), keyed)
    | st.builds(lambda key, secret: {key: [1, {"a": secret}]}, st.sampled_from(KEYS), keyed)
    | st.builds(lambda key, secret: [[key, secret]], st.sampled_from(KEYS), keyed)
    | st.builds(lambda key, secret: {"name": key, "value": secret}, st.sampled_from(KEYS), keyed)
    | st.builds(lambda secret: ["mysql", "--password", secret, "db"], keyed)
    | in_text
    | lines
)


def _nested(inner):
    plain = st.sampled_from([None, 1, "cats", "a b", [2.5], {"q": True}])
    return (
        st.builds(lambda value, other: {"a": other, "deep": value}, inner, plain)
        | st.builds(lambda value, other: [other, value, other], inner, plain)
        | st.builds(json.dumps, inner)
        | st.builds(lambda value: json.dumps(value, indent=1), inner)
        | st.builds(lambda value: f"curl -d '{json.dumps(value)}' https://a.b", inner)
        | st.builds(lambda value: {"cmd": f"echo {json.dumps(value)} | sh"}, inner)
    )


planted = st.recursive(secrets, _nested, max_leaves=4)
"""A value with a secret somewhere in it."""

arguments = st.builds(lambda value: {"q": value}, planted) | planted.filter(
    lambda value: isinstance(value, (dict, str))
)
"""Arguments of a call with a secret somewhere in them."""


def is_told(text):
    """Whether a text gives a planted secret away."""
    return MARK.lower() in text.lower()
