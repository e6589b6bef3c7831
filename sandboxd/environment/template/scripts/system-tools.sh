sudo apt-get update

# Each package with its version; * stands for the distribution's own updates.
sudo apt-get install --yes --no-install-recommends \
  'jq=1.*' \
  'tree=2.*'

jq --version
