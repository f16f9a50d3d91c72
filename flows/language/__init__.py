"""What the methods ask of a language; one module a language gives it (`flows.language.en`)."""

from typing import Protocol


class Language(Protocol):
    """The questions a check may ask of a text. A module with these functions is a `Language`."""

    def count(self, text: str) -> int:
        """Words in `text`."""
        ...

    def sentences(self, text: str) -> list[str]:
        """The sentences of `text` in order, each a verbatim stretch of it without its outer white space."""
        ...

    def content_words(self, text: str) -> frozenset[str]:
        """The lower-cased base forms of the words that carry meaning; negations are among them."""
        ...

    def contains(self, text: str, phrase: str) -> bool:
        """Whether `phrase` stands in `text` as whole words, whatever the case."""
        ...
