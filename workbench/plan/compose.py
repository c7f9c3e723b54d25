"""Composes the pack: offers to the knapsack, its choice to text, and the text measured as a whole.

The sum of the parts' tokens differs a little from the tokens of the whole, so the knapsack's limit is moved
until the text itself fits. The text never exceeds the budget, headings included, and holds something as long
as anything fits by itself, absolute rules first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from workbench.plan.knapsack import Item, Offer
from workbench.plan.packing import MANDATORY_SHARE, PackedOffer, Packing, item_order, pack
from workbench.plan.render import FileView, Passage, Style, render_pack
from workbench.records.answers.plan import BudgetReport
from workbench.records.dataclass import dataclass
from workbench.records.plan import Dropped, Representation
from workbench.text.tokens import TokenCounter

_ROUNDS = 6
_SLACK = 0.02
TOKEN_PRICE = 2e-5  # a thousand tokens hold a fiftieth of a needed file, or they stay free
MOST_NAMES = 10  # more than that nobody reads
NAMES_SHARE = 0.04
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class ViewOffer:
    """A way to show a file, its cost and its expected worth; `why` lists what it holds."""

    view: FileView
    tokens: int
    utility: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class FileCandidate:
    """A ranked file and its offers. `excluded` is the reason it may not be in the pack, else empty."""

    path: str
    score: float
    offers: tuple[ViewOffer, ...]
    priority: int = 0
    excluded: str = ""
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Pack:
    """A finished pack: its text and every decision behind it.

    `text` has `report.estimated_used` tokens, at most `report.token_budget`. `files` are in the order of the
    text, with the files that are only named last.
    """

    text: str
    passages: tuple[Passage, ...]
    files: tuple[tuple[FileCandidate, ViewOffer], ...]
    dropped: tuple[Dropped, ...]
    report: BudgetReport


def compose(
    passages: Sequence[Passage],
    candidates: Sequence[FileCandidate],
    budget: int,
    style: Style,
    counter: TokenCounter,
    *,
    mandatory_share: float = MANDATORY_SHARE,
) -> Pack:
    """Choose and write the pack for a budget of tokens of the whole text.

    Sections come in the order of their first passages, mandatory passages first in each; files by
    score. Deterministic. Raises: ValueError if two passages or two candidates share an id or path.
    """
    budget = max(0, budget)
    sources = _sources(passages, candidates)
    items = _items(sources, style, counter)
    best_possible = sum(max((offer.utility for offer in item.offers), default=0.0) for item in items)
    choose = partial(pack, items, mandatory_share=mandatory_share)
    limit = max(0, budget - counter.count(style.opening + style.closing))
    fitting, too_much = 0, limit + budget  # limits whose texts are known to fit, and not to
    best: _Draft | None = None
    for number in count():
        if limit <= fitting or (number >= _ROUNDS and best is not None):
            break
        draft = _write(choose(limit), sources, budget, style, counter)
        spare = budget - draft.tokens
        if spare < 0:
            too_much = limit
            # Less than what was used, which may be far below the limit: else the same draft comes out again.
            limit = draft.packing.used + spare - 1
            if limit <= fitting or number >= _ROUNDS:
                limit = (fitting + too_much) // 2
            continue
        if best is None or draft.packing.achieved > best.packing.achieved:
            best = draft
        if spare <= budget * _SLACK or draft.packing.achieved >= best_possible - _EPSILON:
            break
        fitting, limit = limit, min(limit + spare * 3 // 4, too_much - 1)
    if best is None or not best.packing.chosen:
        best = _single(items, budget, sources, style, counter)
    return _finish(best, sources, budget, counter)


def _single(
    items: Sequence[Item], budget: int, sources: _Sources, style: Style, counter: TokenCounter
) -> _Draft:
    """Write the first piece that fits alone, heading included: pinned, then mandatory, then the most useful.

    Returns an empty draft if none does; its bound is what there was to achieve.
    """
    pieces = [
        (item, offer)
        for item in items
        if not item.excluded
        for offer in (*item.offers, *_name_only_offers(sources.candidates.get(item.id)))
        if offer.tokens <= budget
    ]
    pieces.sort(key=lambda one: (*_urgency(one[0]), -one[1].utility, one[1].tokens, *item_order(one[0])))
    nothing = pack(items, 0)
    bound = max((offer.utility for _item, offer in pieces), default=0.0)
    for item, offer in pieces:
        left_out = tuple(one for one in nothing.dropped if one.file != item.id)
        alone = Packing((PackedOffer(item, offer),), left_out, offer.tokens, offer.utility, bound)
        draft = _write(alone, sources, 0, style, counter)
        if draft.tokens <= budget:
            return draft
    return _write(replace(nothing, bound=bound), sources, 0, style, counter)


def _name_only_offers(candidate: FileCandidate | None) -> Iterator[Offer]:
    """Yield the offer that only names a file, as a piece of the last resort."""
    for number, offer in enumerate(candidate.offers if candidate else ()):
        if _names_only(offer):
            yield Offer(str(number), max(1, offer.tokens), 0.0)


def _urgency(item: Item) -> tuple[bool, bool, int]:
    return (not item.pinned, not item.mandatory, -item.priority if item.mandatory else 0)


@dataclass(frozen=True, slots=True)
class _Sources:
    """What the items represent, by item id."""

    passages: dict[str, Passage]
    candidates: dict[str, FileCandidate]

    def __bool__(self) -> bool:
        return bool(self.passages or self.candidates)


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str
    tokens: int
    packing: Packing
    passages: tuple[Passage, ...]
    files: tuple[tuple[FileCandidate, ViewOffer], ...]


def _sources(passages: Sequence[Passage], candidates: Sequence[FileCandidate]) -> _Sources:
    by_id = {f"passage:{passage.id}": passage for passage in passages}
    by_path = {f"file:{candidate.path}": candidate for candidate in candidates}
    if len(by_id) < len(passages) or len(by_path) < len(candidates):
        raise ValueError("two passages or two candidates have the same name")
    return _Sources(by_id, by_path)


def _items(sources: _Sources, style: Style, counter: TokenCounter) -> list[Item]:
    """Return one knapsack item for each source; a passage has a single offer, its whole text."""
    items = []
    for key, passage in sources.passages.items():
        tokens = counter.count(style.section("", [passage]))
        offer = Offer("0", max(1, tokens), max(passage.utility, 0.0))
        items.append(
            Item(key, (offer,), passage.score, passage.priority, passage.mandatory, pinned=passage.pinned)
        )
    for key, candidate in sources.candidates.items():
        offers = tuple(
            Offer(str(number), max(1, offer.tokens), max(offer.utility - TOKEN_PRICE * offer.tokens, 0.0))
            for number, offer in enumerate(candidate.offers)
            if candidate.pinned or not _names_only(offer)
        )
        items.append(
            Item(
                key,
                offers,
                candidate.score,
                candidate.priority,
                excluded=candidate.excluded,
                pinned=candidate.pinned,
                may_lead=True,
            )
        )
    return items


def _write(packing: Packing, sources: _Sources, budget: int, style: Style, counter: TokenCounter) -> _Draft:
    """Write a packing down, with the names of a few more files, and measure it."""
    passages = [
        sources.passages[choice.item.id] for choice in packing.chosen if choice.item.id in sources.passages
    ]
    sections = list(dict.fromkeys(passage.section for passage in sources.passages.values()))
    passages.sort(
        key=lambda passage: (sections.index(passage.section), not passage.pinned, not passage.mandatory)
    )
    files = []
    for choice in packing.chosen:
        candidate = sources.candidates.get(choice.item.id)
        if candidate is not None:
            files.append((candidate, candidate.offers[int(choice.offer.name)]))
    files += _names(sources, {candidate.path for candidate, _offer in files}, budget)
    files.sort(key=lambda pair: _names_only(pair[1]))
    text = render_pack(style, passages, [offer.view for _candidate, offer in files])
    return _Draft(text, counter.count(text), packing, tuple(passages), tuple(files))


def _names(
    sources: _Sources, shown: Collection[str], budget: int
) -> Iterator[tuple[FileCandidate, ViewOffer]]:
    """Yield the likeliest files that are not shown, to be named: few, and for little of the budget."""
    left = int(budget * NAMES_SHARE)
    named = 0
    for candidate in sorted(sources.candidates.values(), key=lambda one: (-one.score, one.path)):
        if candidate.path in shown or candidate.excluded or candidate.pinned:
            continue
        offer = next(
            (one for one in candidate.offers if one.view.representation is Representation.PATH), None
        )
        if offer is None:
            continue
        if max(1, offer.tokens) > left or named == MOST_NAMES:
            return
        left -= offer.tokens
        named += 1
        yield candidate, offer


def _names_only(offer: ViewOffer) -> bool:
    return offer.view.representation is Representation.PATH


def _finish(draft: _Draft, sources: _Sources, budget: int, counter: TokenCounter) -> Pack:
    packing = draft.packing
    named = {key: passage.origin or passage.id for key, passage in sources.passages.items()}
    named |= {key: candidate.path for key, candidate in sources.candidates.items()}
    inside = {f"file:{candidate.path}" for candidate, _offer in draft.files}
    return Pack(
        text=draft.text,
        passages=draft.passages,
        files=draft.files,
        dropped=tuple(
            Dropped(named[one.file], one.reason, one.file.partition(":")[2], one.pinned)
            for one in packing.dropped
            if one.file not in inside
        ),
        report=BudgetReport(
            token_budget=budget,
            estimated_used=draft.tokens,
            efficiency_score=round(packing.efficiency, 4) if packing.chosen or not sources else 0.0,
            tokenizer=counter.name,
            upper_bound=round(packing.bound, 4),
        ),
    )
