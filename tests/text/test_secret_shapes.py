"""Known shapes of secrets: a row each, and generated values around them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop._text.secret_shapes import PREFIXES, PROGRAMS
from antiloop.loop_detection import mask_secrets

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
HEX = "0123456789abcdef"


def of(alphabet, least, most=None):
    return st.text(alphabet, min_size=least, max_size=most or least)


WORD = of(LETTERS, 24, 60)
PASSWORD = st.builds(
    lambda first, rest: first + rest,
    of(LETTERS, 4),
    st.text(LETTERS + "!@#%^*+.,:/?_~", max_size=9),
)
SHAPES = {
    "AWS access key": ("AKIA{}", of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    "AWS session key": ("ASIA{}", of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    "AWS secret key": ("AWS_SECRET_ACCESS_KEY={}", of(LETTERS + "/+", 40)),
    "AWS signed address": ("https://b.s3.amazonaws.com/a?X-Amz-Signature={}", of(HEX, 64)),
    "GCP API key": ("AIza{}", of(LETTERS + "-_", 35)),
    "GCP access token": ("ya29.{}", WORD),
    "GCP signed address": ("https://storage.googleapis.com/a?X-Goog-Signature={}&a=b", of(HEX, 64)),
    "Azure signed address": ("https://a.blob.core.windows.net/b?sv=2022&sig={}&se=x", WORD),
    "Azure account key": ("AccountName=a;AccountKey={}", of(LETTERS + "+/", 86)),
    "GitHub": ("ghp_{}", of(LETTERS, 36)),
    "GitHub, fine-grained": ("github_pat_{}", of(LETTERS + "_", 82)),
    "GitLab": ("glpat-{}", of(LETTERS + "-_", 20)),
    "npm": ("npm_{}", of(LETTERS, 36)),
    "Hugging Face": ("hf_{}", of(LETTERS, 34)),
    "OpenAI": ("sk-proj-{}", WORD),
    "Anthropic": ("sk-ant-api03-{}", WORD),
    "Stripe": ("sk_live_{}", WORD),
    "Twilio": ("SK{}", of(HEX, 32)),
    "Twilio, in a command": ("curl -u AC123:{} https://api.twilio.com", of(HEX, 32)),
    "SendGrid": ("SG.{}", st.builds("{}.{}".format, of(LETTERS, 22), of(LETTERS + "-_", 43))),
    "Mailgun": ("key-{}", of(HEX, 32)),
    "Mailchimp": ("{}-us12", of(HEX, 32)),
    "Slack token": ("xoxb-{}", WORD),
    "Slack webhook": ("https://hooks.slack.com/services/{}", st.builds("T0/B0/{}".format, WORD)),
    "Discord webhook": ("https://discord.com/api/webhooks/123456/{}", WORD),
    "Discord webhook, old": ("https://discordapp.com/api/v9/webhooks/123456/{}", WORD),
    "Teams webhook": (
        "https://a.webhook.office.com/webhookb2/{}",
        st.builds("{}@a/b".format, WORD),
    ),
    "Telegram": ("123456789:AA{}", of(LETTERS + "-_", 33)),
    "Telegram, in an address": (
        "https://api.telegram.org/bot{}/send",
        st.builds("12:{}".format, WORD),
    ),
    "JWT": ("eyJhbGciOiJIUzI1NiJ9.{}.c2ln", st.builds("eyJ{}".format, WORD)),
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", WORD),
    "basic auth in an address": ("https://bob:{}@example.org/a", of(LETTERS + "!.,;=-_", 6, 30)),
    "basic auth in a header": ("Authorization: Basic {}", of(LETTERS + "+/=", 16, 40)),
    ".netrc": ("machine a.b login bob password {}", PASSWORD),
    "mysql": ("mysql -u root -p{} -h db", PASSWORD),
    "mysqldump": ("/usr/bin/mysqldump -p{} shop > a.sql", PASSWORD),
    "mysql, quoted": ("mysql -p'{}' shop", PASSWORD),
    "sshpass": ("sshpass -p {} ssh bob@a.b", PASSWORD),
    "sshpass, attached": ("sshpass -p{} ssh bob@a.b", PASSWORD),
    "sshpass, quoted": ('sshpass -p "{}" ssh a.b', st.builds("{} x".format, PASSWORD)),
    "openssl": ("openssl enc -aes-256-cbc -k {} -in a", PASSWORD),
    "openssl, as a phrase": ("openssl rsa -passin pass:{} -in a", PASSWORD),
    "redis": ("redis-cli -h db -a {} keys", PASSWORD),
    "docker": ("docker login -u bob -p {} a.b", PASSWORD),
    "mongo": ("mongosh -u bob -p {} db", PASSWORD),
    "ldap": ("ldapsearch -x -w {} -b dc=a", PASSWORD),
    "archive": ("7z x -p{} a.7z", PASSWORD),
    **{prefix: (f"{prefix}{{}}", WORD) for prefix in PREFIXES},
}
PLACES = (
    *("{}", "see {} and so on", "a\nb {}\nc", "'{}'", "x; {}; y", "echo `{}`"),
    *("{}\n{}", "(cd a && {})"),
)


def is_told(secret, shown):
    return secret in json.dumps(shown, ensure_ascii=False)


@pytest.mark.parametrize("name", SHAPES)
@given(data=st.data())
def test_a_secret_of_this_shape_is_masked_wherever_it_stands(name, data):
    shape, values = SHAPES[name]
    secret = data.draw(values, label="secret")
    line = data.draw(st.sampled_from(PLACES)).replace("{}", shape.format(secret))
    for value in (line, {"cmd": line}, json.dumps({"cmd": line}), ["bash", "-lc", line]):
        shown = mask_secrets(value)
        assert not is_told(secret, shown)
        assert mask_secrets(shown) == shown


OPTIONS = [
    (name, letter, is_attached)
    for name, program in PROGRAMS.items()
    for is_attached in (False, True)
    for letter in (program.attached if is_attached else program.spaced)
]


@pytest.mark.parametrize(("name", "letter", "is_attached"), OPTIONS)
@given(secret=PASSWORD)
def test_an_option_is_masked_in_a_line_and_in_a_list(name, letter, is_attached, secret):
    words = [*f"/usr/bin/{name} x".split(), *([f"-{letter}{secret}"] if is_attached else ())]
    words += [] if is_attached else [f"-{letter}", secret]
    values = [" ".join([*words, "y"]), [*words, "y"], json.dumps(words)]
    if " " not in name:  # in Python's words for a list, the two are two
        values.append(str(words))
    for value in values:
        assert not is_told(secret, mask_secrets(value))
        assert "***" in str(mask_secrets(value))


INNOCENT = (
    *("mkdir -p a/b", "ssh -p 2222 a.b", "curl -k https://a.b", "cp -pr a b", "docker ps -a"),
    *("mysql -u root -p shop", "mysql --help", "openssl version", "hooks.slack.com is down"),
    *("discord.com/api/webhooks", "telegram.org/bots", "design=a", "SKIP a test", "key-value"),
    *("12:AAB", "the login password of bob", "sb_secret_", "a.dapi.b", "SG.a"),
)


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_like_such_a_shape_stays(text):
    assert mask_secrets(text) == text
    assert mask_secrets(text.split()) == text.split()
