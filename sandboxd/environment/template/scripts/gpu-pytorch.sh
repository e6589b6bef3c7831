nvidia-smi

# The agent's commands use /workspace/.venv by themselves.
cd /workspace
uv venv .venv
uv pip install torch==2.8.0 numpy==2.3.2

.venv/bin/python -c 'import torch; assert torch.cuda.is_available(), "PyTorch sees no GPU"'
