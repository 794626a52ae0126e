"""The engine: a writer whose model can be corrected, rolled back and replaced.

Building the model again, after a correction or for a rollback, takes long: another thread does it, with a model of its
own, while the old model serves and learns. The writer then lets the new model catch up and replaces the old one.
"""

from __future__ import annotations

import json
from concurrent.futures import Future
from functools import partial
from typing import Any

from rankwise.persistence import to_bytes
from rankwise.serve.replica import Replica, built
from rankwise.serve.store import Ranges, Version
from rankwise.serve.writer import ConflictError, Writer

_ATTEMPTS = 3  # to catch up with corrections beside the writer, before it is made to wait


class UnknownError(LookupError):
    """An id, version or challenger that does not exist."""


class Engine(Writer):
    """A writer whose model can be corrected, rolled back and replaced; parameters are those of :class:`Writer`."""

    _rebuilding = False

    # -- corrections -------------------------------------------------------------------------------------------------

    def change(
        self, id: str, label: str | None, weight: float | None, future: Any = None, context: str | None = None,
        actor: str | None = None,
    ) -> Any:  # fmt: skip
        """Correct an earlier feedback, or retract it if ``label`` is None; the future gets the place of the event.

        A ``context`` is kept with the event, and as a note where the label and the weight are the same already.
        """
        return self.call(lambda: self._change(id, label, weight, context, actor), future)

    def _change(
        self, id: str, label: str | None, weight: float | None, context: str | None, actor: str | None
    ) -> dict[str, Any]:
        store = self.store
        target, kind, old_label, old_weight, _ = store.find([id]).get(id, (0, "", "", 0.0, ""))
        if kind != "feedback":
            raise UnknownError(f"there is no feedback {id!r}.")
        before = store.changes(target, target, store.last).get(target, ("feedback", old_label, old_weight))
        wanted = "retraction" if label is None else "correction"
        if label is not None and weight is None:
            weight = old_weight if before[2] is None else before[2]
        is_done = (label, weight) == before[1:] if label is not None else before[0] == "retraction"
        if is_done:  # the same request again: the same answer
            if context is not None:
                self._note(context, actor)
            return {"id": id, "seq": target, "state": before[0]}
        with store.transaction() as cursor:
            weight = None if label is None or weight is None else weight + 0.0  # there is no -0.0 in a database
            seq = store.event(cursor, wanted, target=target, label=label, weight=weight, context=context, actor=actor)
        if self.replica.version.holds(target) and target <= self.replica.seq:
            self.rebuild()
        else:
            self.replica.move(seq, seq)
        return {"id": id, "seq": target, "state": wanted}

    def note(self, context: str, future: Any = None, *, actor: str | None = None) -> Any:
        """Keep a fact in the order of the log, which changes no model; the future gets None."""
        return self.call(lambda: self._note(context, actor), future)

    def _note(self, context: str, actor: str | None) -> None:
        with self.store.transaction() as cursor:
            seq = self.store.event(cursor, "note", context=context, actor=actor)
        self.replica.move(seq, seq)

    def rebuild(self) -> None:
        """Build the model again from the log, in the background."""
        super().rebuild()
        if not self._rebuilding:
            self._rebuilding = True
            self._in_background(self._rebuild)

    def _rebuild(self) -> None:
        try:
            with self.store.reader() as reader:
                for attempt in range(_ATTEMPTS + 1):
                    if attempt == _ATTEMPTS:  # corrections come too fast: the writer waits
                        self.call(lambda: self._put(built(self.store, self.replica.version))).result()
                        return
                    replica = built(reader, self.replica.version)
                    self.n_replays += 1
                    if self.call(partial(self._put, replica)).result():
                        return
        finally:
            self._rebuilding = False
            if self.replica.stale and not self._stopping:  # a correction came in between
                self.rebuild()

    def _put(self, replica: Replica) -> bool:
        """Replace the old model by one that was built again, unless later corrections concern it."""
        store = self.store
        if replica.version.version != self.replica.version.version:
            return True  # a rollback has replaced the version: nothing to do
        if any(replica.version.holds(seq) for seq in store.changed_since(replica.as_of, replica.seq)):
            return False
        replica.replay(store, store.last)
        self.replica = replica
        self._snapshot_at = min(self._snapshot_at, replica.as_of)
        self._tell("rebuilt", seq=replica.seq, version=replica.version.version)
        return True

    # -- versions ----------------------------------------------------------------------------------------------------

    def roll_back(self, version: int, seq: int | None = None, future: Any = None, actor: str | None = None) -> Any:
        """Begin a version with the model of an earlier one at a place of the log; the future gets its number."""
        future = Future() if future is None else future
        with self.store.reader() as reader:  # beside the writer
            versions = {v.version: v for v in reader.versions()}
        if version not in versions:
            raise UnknownError(f"there is no version {version}.")
        goal = versions[version]
        later = [v.began for v in versions.values() if v.version > version]
        end = min(later) - 1 if later else self.store.last
        place = end if seq is None else seq
        if not goal.began <= place <= end:
            raise ConflictError(f"version {version} goes from event {goal.began} to {end}, not to {place}.")
        self._in_background(lambda: self._build_and_begin(goal, place, actor, future))
        return future

    def _build_and_begin(self, goal: Version, place: int, actor: str | None, future: Any) -> None:
        try:
            with self.store.reader() as reader:
                while True:
                    replica = built(reader, goal, place)
                    number = self.call(partial(self._begin_from, goal, place, replica, actor)).result()
                    if number:
                        break
            self.deliver([(future, number, None)])
        except Exception as error:
            self.deliver([(future, None, error)])

    def _begin_from(self, goal: Version, place: int, replica: Replica, actor: str | None) -> int:
        """Begin the version of a rollback; 0 if corrections came in between."""
        store = self.store
        if any(goal.holds(seq) for seq in store.changed_since(replica.as_of, place)):
            return 0
        context = json.dumps({"version": goal.version, "seq": place})
        with store.transaction() as cursor:
            seq = store.event(cursor, "rollback", context=context, actor=actor)
            report = {"to_version": goal.version, "to_seq": place}
            version = store.add_version(cursor, "rollback", goal.root, [*goal.upto(place), (seq, None)], seq, report)
            content = to_bytes(replica.rows.model)
            new = Replica(version, content, seq, seq, replica.revision)
            store.add_snapshot(cursor, new.copied()[1], content)
            self._keep_last(cursor)
        return self._now_at(new, seq)

    def promote(self, number: int, future: Any = None, actor: str | None = None) -> Any:
        """Serve a challenger from now on; the future gets the number of its version."""
        return self.call(lambda: self._promote(number, actor), future)

    def _promote(self, number: int, actor: str | None) -> int:
        store = self.store
        challenger = store.connection.execute(
            "SELECT root, trained_to, report, state FROM challengers WHERE number = ?", (number,)
        ).fetchone()
        if challenger is None:
            raise UnknownError(f"there is no challenger {number}.")
        root, trained_to, report, state = challenger
        if state == "promoted":
            raise ConflictError(f"challenger {number} is promoted already.")
        report = json.loads(report)
        with store.transaction() as cursor:
            seq = store.event(cursor, "promotion", context=json.dumps({"challenger": number}), actor=actor)
            ranges: Ranges = [(trained_to if report["learns"] else seq, None)]
            version = store.add_version(cursor, "promotion", root, ranges, seq, report)
            cursor.execute("UPDATE challengers SET state = 'promoted' WHERE number = ?", (number,))
            new = Replica(version, store.model(root))
            self._keep_last(cursor)
        new.replay(store, seq)
        return self._now_at(new, seq)

    def _keep_last(self, cursor: Any) -> None:
        """Keep a snapshot of the model that is about to be replaced."""
        if not self.replica.stale:
            model, snapshot = self.replica.copied()
            self.store.add_snapshot(cursor, snapshot, to_bytes(model))

    def _now_at(self, replica: Replica, seq: int) -> int:
        former = self.replica
        self.replica = replica
        self._snapshot_at = seq
        self._tell("version", version=replica.version.version, former=former.version.version, seq=seq)
        return replica.version.version
