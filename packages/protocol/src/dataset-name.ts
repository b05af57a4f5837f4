/** The name of a dataset as a regular expression without anchors, for patterns of addresses that contain one. */
export const DATASET_NAME = '[a-z0-9][a-z0-9-]{0,63}';

/** Matches the name of a dataset. */
export const datasetNamePattern = new RegExp(`^${DATASET_NAME}$`);
