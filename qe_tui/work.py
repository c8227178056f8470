"""Work beside the screens: workers of which no fault goes unseen."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from textual.dom import DOMNode
from textual.worker import Worker


def work(
    node: DOMNode, doing: Coroutine[Any, Any, object], group: str, *, exclusive: bool = True
) -> Worker[None]:
    """Runs what may take a while as a worker of `node`, and ends with it; `exclusive` ends what
    the group was doing before.

    A fault ends the app as one in a handler does, without the values that Textual would quote.
    """

    async def guarded() -> None:
        try:
            await doing
        except Exception as error:
            node.app._handle_exception(error)

    return node.run_worker(guarded(), group=group, exclusive=exclusive, exit_on_error=False)
