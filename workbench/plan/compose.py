"""Composes the pack: offers to the knapsack, its choice to text, and the text measured as a whole.

Everything is worth the tokens of it that the task is expected to need, and costs a price times its tokens:
what is worth less stays out however much of the budget is left. The price is that of the task (`fair_price`):
where the evidence is clear little is enough, else several places are worth a look, but not all of the budget.

The sum of the parts' tokens differs a little from the tokens of the whole, so the knapsack's limit is moved
until the text itself fits. The text never exceeds the budget, headings included, and holds something as long
as anything fits by itself, absolute rules first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from workbench.plan.brief_lines import Around, ShownFile, Surroundings, choose_lines
from workbench.plan.knapsack import Item, Offer
from workbench.plan.packing import MANDATORY_SHARE, PRICE, PackedOffer, Packing, item_order, pack, worth
from workbench.plan.render import BriefLine, FileView, Passage, Style, render_pack
from workbench.records.answers.plan import BudgetReport
from workbench.records.dataclass import dataclass
from workbench.records.plan import Dropped, Representation
from workbench.text.tokens import TokenCounter

_ROUNDS = 6
_SLACK = 0.02
NAMED_FROM = 0.06  # a file that is needed with this chance is named
MOST_NAMES = 8  # more than that nobody reads
NAMES_SHARE = 0.15
LEAST_HEADED = 150  # tokens; a smaller pack has no first line
_EPSILON = 1e-9
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class ViewOffer:
    """A way to show a file, its cost and worth in needed tokens; `names` are definitions that it holds."""

    view: FileView
    tokens: int
    utility: float
    names: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """What it shows, as text."""
        return ", ".join(self.names)


@dataclass(frozen=True, slots=True)
class FileCandidate:
    """A ranked file and its offers. `excluded` is the reason it may not be in the pack, else empty.

    `chance` is that of being needed; `fill` gives a view of it its lines, safe to show. A file that `leads`
    is shown even where none of its places is worth its tokens by itself. One that `follows` from the work on
    others is named only as changing with them. `alike` are less likely files that are like it.
    """

    path: str
    score: float
    offers: tuple[ViewOffer, ...]
    priority: int = 0
    excluded: str = ""
    pinned: bool = False
    chance: float = 0.0
    fill: Callable[[FileView], FileView] | None = None
    leads: bool = False
    follows: bool = False
    alike: tuple[str, ...] = ()


Head = Callable[[Collection[str], int], str]
"""Returns the first line of a pack from the files it shows and its tokens."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A finished pack: its text and every decision behind it.

    `text` has `report.estimated_used` tokens, at most `report.token_budget`. `files` are in the order of the
    text, with the files that are only named last.
    """

    text: str
    passages: tuple[Passage, ...]
    files: tuple[ShownFile, ...]
    dropped: tuple[Dropped, ...]
    report: BudgetReport
    lines: tuple[BriefLine, ...] = ()


def compose(  # noqa: PLR0913 - what a pack is made of, and how it is written
    passages: Sequence[Passage],
    candidates: Sequence[FileCandidate],
    budget: int,
    style: Style,
    counter: TokenCounter,
    *,
    mandatory_share: float = MANDATORY_SHARE,
    head: Head | None = None,
    price: float = PRICE,
    passage_price: float = PRICE,
    around: Around | None = None,
    most: int | None = None,
) -> Pack:
    """Choose and write the pack for a budget of tokens of the whole text, `most` of them of what is shown.

    Sections come in the order of their first passages, mandatory passages first in each; files by
    score. Deterministic. Raises: ValueError if two passages or two candidates share an id or path.
    """
    budget = max(0, budget)
    if budget < LEAST_HEADED:
        head = around = None
    sources = _sources(passages, candidates, head, around)
    items = _items(sources, style, counter, price, passage_price)
    best_possible = sum(max((offer.utility for offer in item.offers), default=0.0) for item in items)
    limit = whole = max(0, budget - counter.count(style.opening + style.closing))

    def choose(limit: int) -> Packing:  # what binds has its share of the whole budget
        return pack(
            items, limit, mandatory_share=min(1.0, mandatory_share * max(whole, limit) / max(limit, 1))
        )

    largest = limit + budget
    if most is not None and not any(one.pinned for one in candidates):
        binding = sum(min(offer.tokens for offer in one.offers) for one in items if one.mandatory)
        largest = most + min(binding, int(whole * mandatory_share))
    fit = partial(_fit, choose, min(limit, largest), largest, best_possible, budget, style, counter)
    best, bound = fit(sources)
    if not (best and _shown_paths(best.files)):
        bare, _ = fit(replace(sources, bare=True))
        best = bare if bare and _shown_paths(bare.files) else best
    if best is None or not best.packing.chosen:
        best = _single(items, budget, sources, style, counter)
    packing = replace(best.packing, bound=max(bound, best.packing.bound))
    return _finish(replace(best, packing=packing), sources, budget, style, counter)


def _fit(
    choose: Callable[[int], Packing],
    limit: int,
    largest: int,
    best_possible: float,
    budget: int,
    style: Style,
    counter: TokenCounter,
    sources: _Sources,
) -> tuple[_Draft | None, float]:
    """Return the best draft whose text fits a budget, and the bound of what the budget has room for."""
    fitting, too_much = 0, limit + budget  # limits whose texts are known to fit, and not to
    best: _Draft | None = None
    bound = 0.0
    for number in count():
        if limit <= fitting or (number >= _ROUNDS and best is not None):
            break
        draft = _write(choose(limit), sources, budget, style, counter)
        if number == 0:
            bound = draft.packing.bound  # of the whole budget: what is written may need a smaller one
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
        if spare <= budget * _SLACK or draft.packing.achieved >= best_possible - _EPSILON or limit == largest:
            break
        fitting, limit = limit, min(limit + spare * 3 // 4, too_much - 1, largest)
    return best, bound


def _single(
    items: Sequence[Item], budget: int, sources: _Sources, style: Style, counter: TokenCounter
) -> _Draft:
    """Write the first piece that fits alone, heading included: pinned, then mandatory, then the most useful.

    Returns a draft of the first line and of names if none is worth its tokens, and an empty one if none fits;
    its bound is what there was to achieve.
    """
    pieces = [
        (item, offer)
        for item in items
        if not item.excluded
        for offer in (*item.offers, *_name_only_offers(sources.candidates.get(item.id)))
        if offer.tokens <= budget and (offer.utility > 0 or item.pinned or item.mandatory)
    ]
    if not pieces:
        draft = _write(pack(items, 0), sources, budget, style, counter)
        if draft.tokens <= budget:
            return draft
    pieces.sort(key=lambda one: (*_urgency(one[0]), -one[1].utility, one[1].tokens, *item_order(one[0])))
    nothing = pack(items, 0)
    bound = max((offer.utility for _item, offer in pieces), default=0.0)
    for item, offer in pieces:
        left_out = tuple(one for one in nothing.dropped if one.file != item.id)
        alone = Packing((PackedOffer(item, offer),), left_out, offer.tokens, offer.utility, bound)
        draft = _write(alone, sources, 0, style, counter)
        if draft.tokens <= budget:
            return draft
    return _write(replace(nothing, bound=bound), replace(sources, head=None), 0, style, counter)


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
    head: Head | None
    around: Around | None
    bare: bool = False  # only what is shown, without where else to look and what is about it

    def __bool__(self) -> bool:
        return bool(self.passages or self.candidates)


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str
    tokens: int
    packing: Packing
    passages: tuple[Passage, ...]
    files: tuple[ShownFile, ...]
    lines: tuple[BriefLine, ...]


def _sources(
    passages: Sequence[Passage],
    candidates: Sequence[FileCandidate],
    head: Head | None,
    around: Around | None,
) -> _Sources:
    by_id = {f"passage:{passage.id}": passage for passage in passages}
    by_path = {f"file:{candidate.path}": candidate for candidate in candidates}
    if len(by_id) < len(passages) or len(by_path) < len(candidates):
        raise ValueError("two passages or two candidates have the same name")
    return _Sources(by_id, by_path, head, around)


def _items(
    sources: _Sources, style: Style, counter: TokenCounter, price: float, passage_price: float
) -> list[Item]:
    """Return one knapsack item for each source; a passage has a single offer, its whole text."""
    items = []
    for key, passage in sources.passages.items():
        tokens = max(1, counter.count(style.section("", [passage])))
        offer = Offer("0", tokens, max(worth(passage.utility, tokens) - passage_price * tokens, 0.0))
        items.append(
            Item(key, (offer,), passage.score, passage.priority, passage.mandatory, pinned=passage.pinned)
        )
    for key, candidate in sources.candidates.items():
        offers = tuple(
            Offer(str(number), max(1, offer.tokens), _net(candidate, number, price))
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
                may_lead=candidate.leads,
            )
        )
    return items


def _net(candidate: FileCandidate, number: int, price: float) -> float:
    """Return what an offer is worth beyond its price.

    Whatever the price, the best place of a file that leads is worth a little, and all of what is pinned.
    """
    offer = candidate.offers[number]
    wanted = candidate.pinned or (candidate.leads and number == 1)
    return max(offer.utility - price * offer.tokens, _LEAST * offer.utility if wanted else 0.0)


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
    shown = _shown_paths(files)
    beside = Surroundings()
    if sources.around is not None and not sources.bare:
        beside = sources.around([one for one in files if not _names_only(one[1])])
        taken = {candidate.path for candidate, _offer in files}
        beside = replace(beside, files=tuple(one for one in beside.files if one[0].path not in taken))
        beside = choose_lines(beside, budget, style, counter)
    files += beside.files
    if not sources.bare:
        files += _names(sources, shown.union(candidate.path for candidate, _offer in files), budget)
    files.sort(key=lambda pair: _names_only(pair[1]))
    files = [(candidate, _fill_view(candidate, offer)) for candidate, offer in files]
    if sources.bare:
        files = [(one, replace(offer, view=replace(offer.view, places=()))) for one, offer in files]
    views = [offer.view for _candidate, offer in files]
    tokens = 0
    while True:  # the first line says how many tokens there are, its own among them
        head = sources.head(shown, tokens) if sources.head else ""
        text = render_pack(style, passages, views, head, beside.lines)
        counted = counter.count(text)
        if counted <= tokens or not head:
            return _Draft(text, counted, packing, tuple(passages), tuple(files), beside.lines)
        tokens = counted


def _fill_view(candidate: FileCandidate, offer: ViewOffer) -> ViewOffer:
    """Return an offer whose view has its lines."""
    if offer.view.lines or candidate.fill is None or not offer.view.spans:
        return offer
    return replace(offer, view=candidate.fill(offer.view))


def _names(
    sources: _Sources, shown: Collection[str], budget: int
) -> Iterator[tuple[FileCandidate, ViewOffer]]:
    """Yield the likeliest files that are not shown, to be named: few, and for little of the budget."""
    left = int(budget * NAMES_SHARE)
    named = 0
    for candidate in sorted(sources.candidates.values(), key=lambda one: (-one.score, one.path)):
        if candidate.path in shown or candidate.excluded or candidate.pinned:
            continue
        if candidate.follows and sources.around is not None:  # which names what follows
            continue
        if candidate.chance < NAMED_FROM:
            continue
        offer = next((one for one in candidate.offers if _names_only(one)), None)
        if offer is None:
            continue
        if max(1, offer.tokens) > left or named == MOST_NAMES:
            return
        left -= offer.tokens
        named += 1
        yield candidate, offer


def _shown_paths(files: Sequence[ShownFile]) -> set[str]:
    return {candidate.path for candidate, offer in files if not _names_only(offer)}


def _names_only(offer: ViewOffer) -> bool:
    return offer.view.representation is Representation.PATH


def _finish(draft: _Draft, sources: _Sources, budget: int, style: Style, counter: TokenCounter) -> Pack:
    packing = draft.packing
    named = {key: passage.origin or passage.id for key, passage in sources.passages.items()}
    named |= {key: candidate.path for key, candidate in sources.candidates.items()}
    inside = {f"file:{candidate.path}" for candidate, _offer in draft.files}
    return Pack(
        text=draft.text,
        passages=draft.passages,
        files=tuple(
            (one, replace(offer, tokens=style.cost(offer.view, counter))) for one, offer in draft.files
        ),
        dropped=tuple(
            Dropped(named[one.file], one.reason, one.file.partition(":")[2], one.pinned)
            for one in packing.dropped
            if one.file not in inside
        ),
        report=BudgetReport(
            token_budget=budget,
            estimated_used=draft.tokens,
            efficiency_score=round(packing.efficiency, 4) if packing.chosen else 0.0,
            tokenizer=counter.name,
            upper_bound=round(packing.bound, 4),
        ),
        lines=draft.lines,
    )
