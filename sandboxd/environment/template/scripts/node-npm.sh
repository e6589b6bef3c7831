cd /workspace
[ -f package.json ] || npm init --yes

# Your packages, each with its version. With a project that has a lock file,
# write "npm ci" instead.
npm install --save-exact typescript@5.9.3

npx --no-install tsc --version
