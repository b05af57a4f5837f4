/** The file that `sluice config init` writes. It works unchanged and shows the most important keys. */
export const CONFIG_EXAMPLE = `# The configuration of a Sluice service: sluice serve --config sluice.yaml
# Every key is described in docs/configuration.md; sluice config check tells what is wrong, sluice config print what is in
# force. Paths are relative to this file. \${NAME} in a text is the environment variable of that name.

# Each dataset has a folder of its name in it.
data: ./data

listen:
  host: 127.0.0.1
  port: 8080
  # Beyond loopback a decision is needed, one of:
  # keys: ./keys.txt   # made with: sluice keys create --keys keys.txt
  # auth: none         # anyone who reaches the address may ask

log:
  level: info

datasets:
  # A simulated ledger, to see it work.
  - name: simulated
    from: genesis
    keep: 100000
    sources:
      - kind: simulator
        startSlot: 200

  # A real one. Several nodes take over for each other and are checked against each other.
  # - name: mainnet
  #   aliases: [ledger-mainnet]
  #   from: latest        # or earliest, genesis, or a slot; counts when the dataset is made
  #   keep: 7d            # or 100000 (blocks), 50GB, all
  #   votes: drop
  #   dialects: [ledger, solana]
  #   sources:
  #     - kind: rpc
  #       url: https://rpc.example.org/\${RPC_KEY}
  #       callsPerSecond: 40
  #     - kind: rpc
  #       url: http://127.0.0.1:8899
  #       headers:
  #         x-token: \${NODE_TOKEN}

# limits:
#   key:
#     requestsPerSecond: 50
#     streamCountMax: 2000
#     bytesPerSecond: 50000000
`;
