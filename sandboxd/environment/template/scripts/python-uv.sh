# The agent's commands use /workspace/.venv by themselves.
cd /workspace
uv venv .venv

# Your packages, each with its version. With a project that has a lock file,
# write "uv sync --frozen" instead.
uv pip install pytest==8.4.2 ruff==0.13.0

.venv/bin/pytest --version
