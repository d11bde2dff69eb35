"""Text as ASCII that LaTeX typesets as it is."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "|": "$|$", '"': "''", "`": "`{}",
    # Otherwise two of them become a dash.
    "-": "-{}",
}  # fmt: skip
_MARKS = {
    "–": "--", "—": "---", "−": "$-$", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}",
    "\u00a0": "~", "\u202f": r"\,", "\u2009": r"\,", "§": r"\S{}", "ß": r"\ss{}", "ø": r"\o{}",
    "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}",
    "å": r"\aa{}", "Å": r"\AA{}", "ı": r"\i{}", "·": r"$\cdot$", "•": r"$\bullet$", "€": "EUR",
    "©": r"\copyright{}", "†": r"\dag{}", "‡": r"\ddag{}", "¶": r"\P{}", "£": r"\pounds{}",
    "ο": "$o$", "«": r"$\ll$", "»": r"$\gg$", "‖": r"$\|$", "½": r"$\frac12$", "¼": r"$\frac14$",
    "°": r"$^\circ$",
}  # fmt: skip
_SYMBOLS = {
    "×": "times", "÷": "div", "±": "pm", "∓": "mp", "≥": "geq", "≤": "leq", "≠": "neq",
    "≈": "approx",
    "≡": "equiv", "≪": "ll", "≫": "gg", "∼": "sim", "∝": "propto", "∞": "infty", "√": "surd",
    "∑": "sum", "∏": "prod", "∫": "int", "∂": "partial", "∇": "nabla", "∈": "in", "∉": "notin",
    "⊂": "subset", "⊆": "subseteq", "∩": "cap", "∪": "cup", "∅": "emptyset", "∀": "forall",
    "∃": "exists", "¬": "neg", "∧": "wedge", "∨": "vee", "→": "to", "←": "gets",
    "↔": "leftrightarrow",
    "↑": "uparrow", "↓": "downarrow", "⇒": "Rightarrow", "⇔": "Leftrightarrow", "↦": "mapsto",
    "⊥": "perp", "∥": "parallel", "⊗": "otimes", "⊕": "oplus", "⋅": "cdot", "⋯": "cdots",
    "∘": "circ",
    "′": "prime", "ℓ": "ell", "⟨": "langle", "⟩": "rangle", "⌈": "lceil",
    "⌉": "rceil", "⌊": "lfloor", "⌋": "rfloor", "α": "alpha", "β": "beta", "γ": "gamma",
    "δ": "delta", "ε": "varepsilon", "ϵ": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ϑ": "vartheta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu",
    "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "ς": "varsigma", "τ": "tau", "υ": "upsilon",
    "φ": "varphi", "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Υ": "Upsilon", "Φ": "Phi",
    "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
# LaTeX has no commands for Greek capitals that look like Latin ones.
_MARKS |= {
    greek: f"$\\mathrm{{{latin}}}$"
    for greek, latin in zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True)
}
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d",
    "\u0327": "c", "\u0331": "b",
}  # fmt: skip


def escape(text: str) -> str:
    r"""Return a text as ASCII that LaTeX typesets as it is.

    A character for which plain LaTeX has no command is written as its code point.

    Examples
    --------
    >>> print(escape("R² of 50 % ≥ ε_1"))
    R$^{2}$ of 50 \% $\geq$ $\varepsilon$\_1
    >>> print(escape("Väisälä 語"))
    V\"{a}is\"{a}l\"{a} [U+8A9E]
    """
    words = unicodedata.normalize("NFC", " ".join(text.split()))
    # Before a number, a hyphen is a minus sign.
    words = re.sub(r"(?<![^\s(\[,])-(?=\.?\d)", "−", words)
    escaped = "".join(map(_letter, words))
    # A hyphen only needs its braces before another one.
    return re.sub(r"-\{\}(?!-)", "-", escaped)


@lru_cache(maxsize=4096)
def _letter(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    if letter.isascii():
        return letter if letter.isprintable() else f"[U+{ord(letter):04X}]"
    if letter in _MARKS:
        return _MARKS[letter]
    if letter in _SYMBOLS:
        return rf"$\{_SYMBOLS[letter]}$"
    return _decomposed(letter) or f"[U+{ord(letter):04X}]"


def _decomposed(letter: str) -> str:
    """Return a letter as its parts: an accent, a superscript, a subscript or a ligature."""
    kind, *codes = unicodedata.decomposition(letter).split() or [""]
    parts = [chr(int(code, 16)) for code in codes]
    if not kind.startswith("<"):
        if len(parts) != 1 or parts[0] not in _ACCENTS:
            return ""
        below = _letter(chr(int(kind, 16)))
        # An accent replaces the dot of an i or j.
        below = rf"\{below}" if below in ("i", "j") else below
        return rf"\{_ACCENTS[parts[0]]}{{{below}}}"
    inner = "".join(map(_letter, parts)).replace("-{}", "-")
    if kind in ("<super>", "<sub>"):
        sign = "^" if kind == "<super>" else "_"
        return f"${sign}{{{inner.replace('$', '')}}}$"
    return inner
