"""Which public repositories the models are trained on and which the figures are reported on; never both."""

from __future__ import annotations

TRAIN = (
    "encode+httpx",
    "fastify+fastify",
    "jqlang+jq",
    "jekyll+jekyll",
    "celery+celery",
    "tokio-rs+axum",
    "libuv+libuv",
    "tqdm+tqdm",
    "entireio+cli",
)
TEST = (
    "simonw+datasette",
    "sharkdp+bat",
    "junegunn+fzf",
    "google+gson",
    "square+retrofit",
    "pytest-dev+pytest",
    "vuejs+core",
    "EntityProcess+agentv",
)
PACKS_CHOSEN = ("encode+httpx", "fastify+fastify", "BurntSushi+ripgrep", "gin-gonic+gin")
"""Where the parameters of packing were chosen; `python -m bench packs` reports on those of PACKS_TEST."""
PACKS_TEST = (
    "simonw+datasette",
    "sharkdp+bat",
    "google+gson",
    "junegunn+fzf",
    "square+retrofit",
    "vuejs+core",
    "EntityProcess+agentv",
    "pallets+click",
    "vitejs+vite",
)
PROMPTS_TRAIN = ("entireio+cli",)
PROMPTS_TEST = (
    "PackmindHub+context-evaluator",
    "EntityProcess+agentv",
    "FSM1+cipher-box",
    "dayhaysoos+nimbus",
)
