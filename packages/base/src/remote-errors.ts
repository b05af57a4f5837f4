/** The part of the error catalogue about other machines: the object store and the feed. */
export const REMOTE_ERRORS = {
  // The object store that holds the segments, and the cache in front of it.
  'store-unreachable': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'the object store does not respond, or its response is invalid; check the endpoint and the network',
  },
  'store-refused': {
    status: 503,
    retryAfterSeconds: 10,
    text: 'the object store refuses the request; check the credentials, the bucket and the region',
  },
  'store-object-missing': {
    status: 503,
    retryAfterSeconds: 10,
    text: 'the object store has no such object',
  },
  'store-credentials-missing': {
    text: 'there are no credentials for the object store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write a shared credentials file, or give the machine a role',
  },
  'store-unconditional': {
    text: 'the object store ignores If-None-Match, so two writers could overwrite each other; use a store that supports conditional writes',
  },
  'store-manifest-damaged': {
    text: 'a manifest in the object store is damaged; if it belongs to a backup, remove it and back up again, which sends only missing files',
  },
  'store-manifest-missing': {
    text: 'the object store has no manifest of this dataset; check bucket and prefix, or push the dataset first',
  },
  'store-fenced': {
    text: 'another process has advanced the manifest of this dataset; this one stops writing. Let only one service write it',
  },
  'store-owned': {
    text: 'another data folder wrote the manifest of this dataset last; move this folder away to take the dataset over from the store, or use another prefix',
  },
  'backup-differs': {
    text: 'the backup has a finalized block that the dataset does not have: it is a backup of another chain, or of a newer state, or retention has removed the block. Use another target, or give --replace if the earlier backup is no longer needed',
  },
  'backup-missing': {
    text: 'there is no backup; check the address, or run sluice backup first',
  },
  'backup-damaged': {
    text: 'a file of the backup is damaged, or was not written by sluice; restore from another copy of the backup; if the dataset still exists, sluice backup --verify sends damaged files again',
  },
  'copy-interrupted': {
    text: 'interrupted; the files copied so far are kept, run the command again to continue',
  },
  'backup-overlapped': {
    text: 'another backup of this dataset to the same target ended meanwhile; run one at a time, and run this one again',
  },
  'backup-target-unknown': {
    text: 'the target must be a folder or s3://BUCKET/PREFIX',
  },
  'backup-target-used': {
    text: 'the target is in a data folder, or has a dataset that a service can use; a backup there could remove its files. Use a folder or a prefix of its own',
  },
  'dataset-exists': {
    text: 'the data folder already has this dataset; use another data folder, or drop it first',
  },
  'dataset-folder-used': {
    text: 'the folder of the dataset exists and is not a dataset; move it away, or use another data folder',
  },
  'dataset-in-store': {
    text: 'the segments of this dataset are in an object store and not in its folder; copy the objects of the store, or fetch the dataset to a new folder by sluice dataset pull and back that up',
  },
  'store-upload-differs': {
    text: 'the object store has another object than the one that was written; the upload is repeated',
  },
  'cache-too-small': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'the cache evicts objects faster than they are read; raise store.cacheBytesMax',
  },
  'cache-failed': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'the cache of the object store cannot be read or written; check its disk',
  },

  // The feed that several services share.
  'feed-unreachable': {
    text: 'the feed does not respond; stored blocks are still served; check the NATS servers and the network',
  },
  'feed-fenced': {
    text: 'another service writes the dataset now; this one follows it',
  },
  'feed-full': {
    text: 'the stream of the feed is full; the writer waits until blocks are sealed. Raise feed.bytesMax',
  },
  'feed-gap': {
    text: 'the feed no longer has the messages that this service needs; restart it, so that it starts from a newer manifest',
  },
  'feed-reset': {
    text: 'the stream of the feed has fewer messages than the newest manifest needs, so it was removed or has lost some; start a process with role write, which starts again after the last sealed block',
  },
  'feed-message-damaged': { text: 'a message of the feed is damaged' },
  'feed-message-too-large': {
    text: 'a commit does not fit a message of the feed; raise max_payload of the NATS servers',
  },
  'replica-folder-foreign': {
    text: 'the folder has a dataset that is not a copy of a feed; use another data folder, or push the dataset to the store first',
  },
} as const;
