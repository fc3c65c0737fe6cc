"""Shapes of secrets: beginnings of tokens, parts of addresses, and options of programs.

Each row of a table has texts of which one is in every such secret: to look for them is cheap, and
most texts hold none. Every pattern takes linear time. Tokens without a fixed beginning, such as
those of Discord's bots, are found by their names alone.
"""

import re
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .shortening import MASK

# A secret begins where a word does, also behind the n of an escaped line break.
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_GITHUB = ("gho_", "ghp_", "ghr_", "ghs_", "ghu_")
PREFIXES = (
    *("gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "gloas-", "glagent-", "glimt-"),
    *("pypi-", "rubygems_", "dckr_pat_", "ABSK", "GOCSPX-", "1//0", "SG.", "whsec_", "gsk_"),
    *("xai-", "r8_", "pplx-", "tvly-", "lsv2_pt_", "lsv2_sk_", "pcsk_", "ATATT3", "lin_api_"),
    *("ntn_", "figd_", "shpat_", "shpca_", "shppa_", "shpss_", "sq0atp-", "sq0csp-", "dop_v1_"),
    *("doo_v1_", "dor_v1_", "dapi", "hvs.", "hvb.", "hvr.", "dp.pt.", "dp.st.", "sntrys_"),
    *("sntryu_", "NRAK-", "glsa_", "glc_", "PMAK-", "sbp_", "sb_secret_", "AGE-SECRET-KEY-1"),
)
"""Beginnings of the tokens of well-known services; at least sixteen characters follow."""
_ANY_PREFIX = "|".join(map(re.escape, sorted(PREFIXES, reverse=True)))
_ADDRESSES = (
    *((("hooks.slack",), r"(hooks\.slack(?:-gov)?\.com/\w+/)[\w/+-]+"),),
    *(((".com/api/",), r"(discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/)[\w-]+"),),
    *((("webhook.office",), r"(webhook\.office\.com/webhookb2/)[^\s\"'\\<>]+"),),
    *((("telegram.org",), r"(api\.telegram\.org/(?:file/)?bot)[^\s/\"'\\]+"),),
    (
        ("sig=", "ignature="),
        r"((?<![A-Za-z0-9])(?i:sig|(?:x-(?:amz|goog)-)?signature)=)[^\s&\"'<>\\]+",
    ),
)
"""Addresses that are secrets, and how much of each stays."""

FORMS: Tuple[Tuple[Tuple[str, ...], "re.Pattern[str]", str], ...] = tuple(
    (literals, re.compile(pattern), masked)
    for literals, pattern, masked in (
        (
            ("-----BEGIN ",),
            r"-----BEGIN [A-Z0-9 ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|\Z)",
            MASK,
        ),
        (("sk-",), rf"{_BEGIN}sk-[\w-]{{8,}}", MASK),
        (("k_live_", "k_test_"), rf"{_BEGIN}[srp]k_(?:live|test)_\w{{8,}}", MASK),
        ((*_GITHUB, "github_pat_"), rf"{_BEGIN}(?:gh[oprsu]|github_pat)_\w{{8,}}", MASK),
        (("glpat-",), rf"{_BEGIN}glpat-[\w.-]{{8,}}", MASK),
        (("xox", "xapp-"), rf"{_BEGIN}(?:xox[a-z]|xapp)-[\w-]{{8,}}", MASK),
        (("AKIA", "ASIA"), rf"{_BEGIN}A[KS]IA[A-Z0-9]{{12,}}", MASK),
        (("AIza",), rf"{_BEGIN}AIza[\w-]{{20,}}", MASK),
        (("npm_", "hf_"), rf"{_BEGIN}(?:npm|hf)_[A-Za-z0-9]{{20,}}", MASK),
        (("ya29.",), rf"{_BEGIN}ya29\.[\w-]{{8,}}", MASK),
        (PREFIXES, rf"{_BEGIN}(?:{_ANY_PREFIX})[\w.=/+-]{{16,}}", MASK),
        (("SK",), rf"{_BEGIN}SK[0-9a-f]{{32}}(?![A-Za-z0-9])", MASK),
        (("key-",), rf"{_BEGIN}key-[0-9a-f]{{32}}", MASK),
        (("-us",), rf"{_BEGIN}[0-9a-f]{{32}}-us\d{{1,2}}", MASK),
        ((":AA",), r"(?<!\d)\d{6,12}:AA[\w-]{20,}", MASK),
        (("eyJ",), r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]+(?:\.[\w-]*){2,4}", MASK),
        (("earer", "EARER"), r"((?:\b|(?<=\\[nrt]))(?i:bearer)\s+)[\w.~+/=-]+", rf"\g<1>{MASK}"),
        (("://",), r"(://[^\s/?#:@\"'<>]*:)[^\s/?#\"'<>]*@", rf"\g<1>{MASK}@"),
        *((literals, pattern, rf"\g<1>{MASK}") for literals, pattern in _ADDRESSES),
        (
            ("-u", "-user"),
            r"((?<![^\s\"'])(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']+:)(?!//)[^\s\"']+",
            rf"\g<1>{MASK}",
        ),
        (("login",), r"(\blogin\s+\S+\s+password\s+)\S+", rf"\g<1>{MASK}"),  # .netrc
    )
)
"""Secrets by their shape: texts that each one contains, a pattern, and what remains of it."""
LITERALS = tuple(literal for literals, _, _ in FORMS for literal in literals)


class Program(NamedTuple):
    """Options of a program that are followed by a secret."""

    attached: str = ""
    """Letters of those with the secret in the same word, as in ``-pX``."""
    spaced: str = ""
    """Letters of those with the secret in the next word."""


PROGRAMS: Dict[str, Program] = {
    "mysql": Program("p"),
    "mariadb": Program("p"),
    "sshpass": Program("p", "p"),
    "openssl": Program(spaced="kK"),
    "mongo": Program("p", "p"),
    "redis-cli": Program(spaced="a"),
    "docker login": Program("p", "p"),
    "podman login": Program("p", "p"),
    "ldapsearch": Program("w", "w"),
    "ldapmodify": Program("w", "w"),
    "sqlcmd": Program("P", "P"),
    "7z": Program("p"),
    "unzip": Program("P", "P"),
}
"""Programs by a text that a command line with them holds, so mysqldump is one of mysql."""
_SPACE = r"(?:\\*[\"'],)?(?:\s|\\[nrt])+(?:\\*(?=[\"']))?"
_NEXT_WORD = r"(?:\"(?:[^\"\\]|\\.)*|'(?:[^'\\]|\\.)*|[^\s\"'\\]+)"
_OPTION_BEGINS = r"(?<![^\s\"'=(])-"
_PHRASE = re.compile(r"((?<!\w)pass:)[^\s\"'\\]+")
"""A pass phrase given to openssl: ``-passin pass:X``."""


def _options(program: Program) -> "Iterator[re.Pattern[str]]":
    if program.attached:
        yield re.compile(rf"({_OPTION_BEGINS}[{program.attached}](?:\\*[\"'](?!,))?)[^\s\"'\\]+")
    if program.spaced:
        yield re.compile(rf"({_OPTION_BEGINS}[{program.spaced}]{_SPACE})(?!-)({_NEXT_WORD})")


_OPTIONS = {name: tuple(_options(program)) for name, program in PROGRAMS.items()}


def without_shapes(text: str) -> str:
    """Mask the secrets that have a shape, and those that programs are given by short options."""
    if any(map(text.__contains__, LITERALS)):
        for literals, pattern, masked in FORMS:
            if any(map(text.__contains__, literals)):
                text = pattern.sub(masked, text)
    for name, patterns in _OPTIONS.items():
        if name in text:
            for pattern in patterns:
                text = pattern.sub(_with_mask, text)
            if name == "openssl":
                text = _PHRASE.sub(rf"\g<1>{MASK}", text)
    return text


def _with_mask(found: "re.Match[str]") -> str:
    """Keep the option, and the quote that opens the value if it is not closed within it."""
    quote = found[2][0] if found.lastindex == 2 and found[2][0] in "\"'" else ""
    return f"{found[1]}{quote}{MASK}"


def program_of(words: Sequence[object]) -> Optional[Program]:
    """Return the program that a list of words calls, None if it is given no secrets like this."""
    texts: List[str] = [word for word in words if isinstance(word, str)]
    line = " ".join(word.rpartition("/")[2] for word in texts[:4])
    return next((known for name, known in PROGRAMS.items() if name in line), None)


def hides_next(program: Program, word: object) -> bool:
    """Whether a word is an option that the secret follows."""
    return isinstance(word, str) and word[:1] == "-" and word[1:] in tuple(program.spaced)


def without_attached(program: Program, word: object) -> object:
    """Return a word with the secret masked that is attached to its option."""
    is_option = isinstance(word, str) and len(word) > 2 and word[0] == "-"
    if is_option and word[1] in program.attached:  # type: ignore[index]
        return f"{word[:2]}{MASK}"  # type: ignore[index]
    return word
