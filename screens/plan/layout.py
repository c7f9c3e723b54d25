"""Where the panels of the plan stand: beside each other, below each other or in turn, by the room there is.

Wide terminals have three columns, normal ones two with the bars over the text, narrow ones a list over one
panel at a time. Short ones give up frames.
"""

from __future__ import annotations

from typing import Final

LAYOUT: Final = """
PlanScreen {
    & #plan-work { height: 1fr; }
    & PromptEditor { max-height: 6; }
    & BudgetBar { padding: 0 1; }
    & #plan-how { height: 1; padding: 0 1; }
    & #plan-panes { height: 1fr; layout: horizontal; }
    & #plan-list { width: 1fr; height: 1fr; }
    & #plan-side { width: 1fr; height: 1fr; layout: vertical; }
    & WhyPanel { display: none; height: 2fr; }
    & PreviewPanel { height: 3fr; }
    &.-why WhyPanel { display: block; }
    &.-whole WhyPanel { display: none; }
    & FirstRun { display: none; height: 1fr; }
    &.-first FirstRun { display: block; }
    &.-first BudgetBar, &.-first #plan-how, &.-first #plan-panes { display: none; }
}
PlanScreen.-narrow {
    & #plan-panes { layout: vertical; }
    & #plan-list, & #plan-side { width: 100%; }
    &.-why PreviewPanel { display: none; }
    &.-whole PreviewPanel { display: block; }
}
PlanScreen.-wide {
    & #plan-list { width: 2fr; }
    & #plan-side { width: 3fr; layout: horizontal; }
    & WhyPanel { width: 2fr; height: 1fr; }
    & PreviewPanel { width: 3fr; height: 1fr; }
}
PlanScreen.-short {
    & PromptEditor { min-height: 1; max-height: 3; border: none; border-left: outer $primary; }
    & BudgetBar { height: 2; }
    & WhyPanel, & PreviewPanel { border: none; border-top: solid $panel; }
    & WhyPanel:focus, & PreviewPanel:focus-within { border: none; border-top: solid $primary; }
}
"""
