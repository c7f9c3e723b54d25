"""Answers about the team of a project: how far this machine and the server are apart, what was exchanged."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Text, Texts


class MachineState(Answer, frozen=True):
    """A project directory of a member."""

    id: Text
    name: str
    member: str
    seen_at: Annotated[str, Meta(description="When it last asked the server (ISO 8601); empty for never.")]
    own: Annotated[bool, Meta(description="Whether it is this machine.")]


class TeamStatus(Answer, frozen=True):
    """What `workbench store status --json` prints."""

    server: Annotated[str, Meta(description="The URL without its password; empty without a team.")]
    project: Annotated[str, Meta(description="The name of the project at the server.")]
    member: Annotated[str, Meta(description="Who asks; empty where the server did not answer.")]
    machine: Annotated[str, Meta(description="The id of this machine; empty before it had a team.")]
    answers: Annotated[bool, Meta(description="Whether the server answered now.")]
    unsent: Annotated[Count, Meta(description="Records of this machine that the server does not have.")]
    unreceived: Annotated[Count, Meta(description="Bytes of others that are not here yet.")]
    synced_at: Annotated[str, Meta(description="When both last had the same (ISO 8601); empty for never.")]
    fault: Annotated[str, Meta(description="Why the server does not answer or refuses; empty if it does.")]
    hint: str
    notes: Annotated[Texts, Meta(description="What was odd at the last looks, in sentences.")]
    machines: Annotated[tuple[MachineState, ...], Meta(description="By name; as of the last look.")]


class TeamExchange(Answer, frozen=True):
    """What `workbench store use` and `store sync` print as JSON: what was sent and received."""

    server: Text
    project: Text
    sent: Annotated[Count, Meta(description="Records.")]
    received: Annotated[Count, Meta(description="Records.")]
    export: Annotated[str, Meta(description="Where `use` copied what is shared first; empty for nothing.")]
    notes: Texts


class RecordDifference(Answer, frozen=True):
    """The first record in which a journal here and at the server differ."""

    machine: Text
    stream: Text
    line: Annotated[int, Meta(ge=1)]
    here: Annotated[str, Meta(description="Its id here; empty where it is missing.")]
    there: Annotated[str, Meta(description="Its id at the server; empty where it is missing.")]


class EntryPutAside(Answer, frozen=True):
    """A record of another machine that does not count here: it claims what is not its machine's to say."""

    machine: Annotated[Text, Meta(description="Whose stream it is in.")]
    stream: Text
    entry: Annotated[str, Meta(description="Its id; empty where it has none.")]
    reason: Text


class TeamVerification(Answer, frozen=True):
    """What `workbench store verify --json` and `store copy --json` print: what was compared."""

    copied: Annotated[Count, Meta(description="Records that were copied before.")]
    machines: Count
    streams: Count
    records: Annotated[Count, Meta(description="Records that are the same in both places.")]
    differences: tuple[RecordDifference, ...]
    put_aside: Annotated[tuple[EntryPutAside, ...], Meta(description="Records of others that do not count.")]
    notes: Texts


class MemberState(Answer, frozen=True):
    """Somebody who may use the project's team, or did before."""

    member: Text
    present: Annotated[bool, Meta(description="Whether it is a member now.")]
    machines: Count
    seen_at: str


class TeamMembers(Answer, frozen=True):
    """What `workbench store members … --json` prints."""

    project: Text
    members: tuple[MemberState, ...]
    url: Annotated[
        str,
        Meta(
            description="For the member that was added: with the password of a role that was made, only now; "
            "without one for a role that was there and keeps its own."
        ),
    ]


class TeamLeaving(Answer, frozen=True):
    """What `workbench store leave --json` prints."""

    unsent: Annotated[Count, Meta(description="Records of this machine that the team does not have.")]
    forgotten: Annotated[bool, Meta(description="Whether what others wrote was removed here.")]
