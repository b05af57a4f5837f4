/** The part of the error catalogue about the command line, the configuration and the simulated node. */
export const COMMAND_ERRORS = {
  // The command line.
  'verify-different': {
    text: 'the datasets differ, as described above; sluice verify without --against shows whether the stored files are damaged',
  },
  'verify-nothing-shared': { text: 'the datasets have no final block of the same slots' },
  'verify-versions-differ': {
    text: 'the services compute digests in different ways; use the same version of Sluice for both',
  },
  'cli-usage': { text: 'the command line is not valid' },
  'cli-file-unreadable': { text: 'the file cannot be read' },
  'cli-file-too-large': { text: 'the file is larger than the limit for files of its kind' },
  'cli-file-is-input': {
    text: 'the output file is also an input file; choose another output file',
  },
  'cli-block-not-convertible': {
    text: 'the block cannot be written in this form without a loss; choose another form, or keep the file',
  },
  'cli-file-exists': { text: 'the file already exists; choose another name, or use --force' },
  'cli-folder-used': {
    text: 'the folder has files that are not of this export; choose another folder, or remove them',
  },
  'cli-file-unwritable': { text: 'the file cannot be written' },
  'cli-file-irregular': {
    text: 'the path is not a regular file and is not overwritten; choose another path',
  },
  'cli-interrupted': { text: 'interrupted; nothing was written' },
  'cli-dataset-missing': {
    text: 'there is no such dataset; name a dataset of the service or of the data folder, or give an address: http://HOST:PORT/datasets/NAME',
  },
  'cli-dataset-ambiguous': { text: 'there are several datasets; name one of them' },
  'cli-out-differs': {
    text: 'the output file was written by another query; name another file, or use --force to start over',
  },
  'cli-out-damaged': {
    text: 'the output file cannot be resumed; name another file, or use --force to start over',
  },
  'cli-out-format': {
    text: 'a file that can be resumed must have lines or rows; use --output jsonl or --output csv',
  },
  'cli-follow-folder': {
    text: 'a data folder does not grow while this command reads it; to follow, start sluice serve and use its address',
  },
  'query-interrupted': {
    text: 'interrupted; with --out the same command continues where it stopped',
  },
  'doctor-failed': { text: 'the check found the problems listed above, each with what to do' },

  // A running service to which a command connects.
  'service-unreachable': {
    text: 'no service responds at this address; start one with sluice serve, or name another address (SLUICE_URL)',
  },
  'service-foreign': { text: 'the server at this address is not Sluice; check the address' },
  'service-refused': {
    text: 'the service refused the request',
  },
  'service-key-refused': {
    text: 'the service requires a key, or does not accept this one; set SLUICE_KEY',
  },
  'service-dataset-missing': {
    text: 'the service of SLUICE_URL has no such dataset; choose one of the datasets in the list',
  },

  // The configuration. Every error names the key and the line, and shows no secret.
  'config-not-yaml': { text: 'the configuration is not valid YAML' },
  'config-key-unknown': { text: 'the configuration has a key that does not exist' },
  'config-key-missing': { text: 'the configuration lacks a required key' },
  'config-key-useless': {
    text: 'the configuration has a key that has no effect; remove it, or add the key it depends on',
  },
  'config-value-invalid': { text: 'the configuration has a value that is not allowed' },
  'config-variable-unset': {
    text: 'the configuration refers to an environment variable that is unset or empty; set it, or write $${ for a literal ${',
  },
  'config-invalid': { text: 'the configuration has the errors listed above; correct them' },

  // The simulated node.
  'simulator-option-invalid': {
    text: 'an option of the simulated ledger has a value that is not allowed',
  },
  'simulator-fault-invalid': { text: 'the description of the fault is not valid', status: 400 },
  'simulator-fault-unknown': { text: 'no fault has this id; GET /faults lists them', status: 404 },
  'simulator-time-invalid': { text: 'the requested time change is not valid', status: 400 },
  'listen-failed': {
    text: 'the service cannot listen on this address; choose another port or host',
  },

  // Tables in a database.
  'sync-tables-invalid': {
    text: 'the description of the tables is not valid; docs/sync.md describes it',
  },
  'sync-value-unknown': {
    text: 'a column refers to a value that the records do not have; use one of the known values, or remove the column',
  },
  'sync-type-unfit': {
    text: 'the column cannot have this type; use one of the types that fit its value',
  },
  'sync-idl-missing': {
    text: 'the service has no IDL of the program, so its instructions and events have no names; register the IDL with the service (docs/decoding.md), or filter by discriminator and use raw columns',
  },
  'sync-name-unknown': {
    text: 'no IDL of the program describes this name; use one of the known names, or register a newer IDL with the service',
  },
  'sync-target-unknown': {
    text: 'the address of the target is not supported; use postgres://USER:PASSWORD@HOST:PORT/DATABASE, nats://HOST:PORT/STREAM, duckdb:FILE or parquet:FOLDER',
  },
  'sync-target-unreachable': {
    text: 'nothing responds at the address of the target; check the host, the port and that the database or server runs',
  },
  'sync-target-login': {
    text: 'the target refused the login; check the user, the password or token (for PostgreSQL also PGPASSWORD) and the name of the database',
  },
  'sync-target-permission': {
    text: 'the user lacks a permission of the target; for PostgreSQL grant CREATE on the database and on the schema of the table, or name another schema with --table SCHEMA.NAME',
  },
  'sync-target-failed': {
    text: 'the target refused a statement or cannot be written; the reason says why',
  },
  'sync-package-missing': {
    text: 'this target needs a package with a native module that is not installed; install it in the folder of sluice with npm install, or write Parquet files with parquet:FOLDER',
  },
  'sync-table-foreign': {
    text: 'the target has a table, a folder or messages of this name that sluice sync did not create; choose another name, or rename or remove the other one',
  },
  'sync-table-busy': {
    text: 'another process of sluice sync writes to this table; stop it, or choose another table',
  },
  'sync-table-changed': {
    text: 'the table was created by another definition; use a new table, or --rebuild to drop all tables of the command and load them again',
  },
  'sync-interrupted': {
    text: 'interrupted; the stored rows and their position are kept, run the command again to continue',
  },

  // An IDL.
  'idl-invalid': {
    status: 400,
    text: 'the IDL is not one of Anchor, Codama or Shank that this release can read; correct it, or export it again',
  },
  'program-unknown': {
    status: 404,
    text: 'the service has no IDL of this program; register it, see docs/decoding.md',
  },
  'idl-address-missing': {
    status: 400,
    text: 'the IDL does not contain the address of its program; register it with the address',
  },
  // A set of addresses.
  'query-set-unknown': {
    status: 400,
    text: 'the service has no set of addresses with this name; the operator lists the sets with sluice sets list, and creates one with: sluice sets put NAME FILE',
  },
  'query-set-changed': {
    status: 400,
    text: 'the service no longer has this version of the set; leave out the version to use the current one',
  },
  'set-invalid': {
    status: 400,
    text: 'the file is not a list of addresses; correct it',
  },
  'set-empty': {
    status: 400,
    text: 'the file has no addresses; to remove a set, use sluice sets remove NAME',
  },
  'set-too-large': {
    status: 400,
    text: 'the sets of addresses would exceed a limit; divide the set, or remove another one',
  },
  'set-unknown': {
    status: 404,
    text: 'there is no set with this name; sluice sets list shows all',
  },
  // A repair.
  'repair-source-missing': {
    text: 'no source of the repair has this part; give a backup with --from, or a node with --rpc',
  },
  'repair-source-differs': {
    text: 'the source has other blocks at these slots than the dataset; use another source',
  },
  'repair-refused': { text: 'a source did not return a block that is needed for the repair' },
  'repair-incomplete': {
    text: 'some damage could not be repaired, listed above; try another source, or restore the dataset from a backup',
  },
} as const;
