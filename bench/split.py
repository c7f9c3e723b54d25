"""Which public repositories the models are trained on and which the figures are reported on; never both."""

from __future__ import annotations

TRAIN = (
    "encode+httpx",
    "fastify+fastify",
    "spf13+cobra",
    "tqdm+tqdm",
    "sinatra+sinatra",
    "expressjs+express",
    "pmndrs+zustand",
    "elixir-plug+plug",
    "marshmallow-code+marshmallow",
    "jqlang+jq",
    "tokio-rs+axum",
    "libuv+libuv",
    "guzzle+guzzle",
    "axios+axios",
    "jekyll+jekyll",
    "urllib3+urllib3",
    "Textualize+rich",
    "caddyserver+caddy",
    "fmtlib+fmt",
    "JamesNK+Newtonsoft.Json",
    "clap-rs+clap",
    "celery+celery",
    "entireio+cli",
    "gin-gonic+gin",
    "commitizen-tools+commitizen",
    "orhun+git-cliff",
    "square+okhttp",
    "starship+starship",
    "goreleaser+goreleaser",
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
    "BurntSushi+ripgrep",
    "vitejs+vite",
)
CHUNKS_TRAIN = (
    "encode+httpx",
    "fastify+fastify",
    "spf13+cobra",
    "sinatra+sinatra",
    "expressjs+express",
    "tokio-rs+axum",
    "libuv+libuv",
    "guzzle+guzzle",
    "axios+axios",
    "fmtlib+fmt",
    "clap-rs+clap",
    "gin-gonic+gin",
    "orhun+git-cliff",
    "elixir-plug+plug",
    "jqlang+jq",
    "urllib3+urllib3",
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
