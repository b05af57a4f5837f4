/** The file that `sluice config init` writes. It works unchanged and shows the most important keys. */
export const CONFIG_EXAMPLE = `# The configuration of a Sluice service: sluice serve --config sluice.yaml
# docs/configuration.md describes every key, sluice config check reports errors, sluice config print shows the result with all
# defaults. Paths are relative to this file. \${NAME} in a text is replaced by the environment variable of that name.

# The data folder. Each dataset has a folder with its name in it.
data: ./data

listen:
  host: 127.0.0.1
  port: 8080
  # Beyond loopback one of these is required:
  # keys: ./keys.txt   # created with: sluice keys create --keys keys.txt
  # auth: none         # anyone who can reach the address may send requests

log:
  level: info

datasets:
  # A simulated ledger, for a first try.
  - name: simulated
    from: genesis
    keep: 100000
    sources:
      - kind: simulator
        startSlot: 200

  # A real ledger. If one node fails, the others are used, and their blocks are compared.
  # - name: mainnet
  #   aliases: [ledger-mainnet]
  #   from: latest        # or earliest, genesis, or a slot; only effective for a new dataset
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
