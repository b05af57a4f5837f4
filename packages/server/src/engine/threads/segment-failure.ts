import { CodedError, type ErrorCode, type ErrorDetail, knownDetail } from '@sluice/base/errors';

export interface SegmentFault {
  readonly key: string;
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;
}

/** The failure of a run at one of its segments. */
export class SegmentFailure extends CodedError {
  readonly key: string;

  constructor({ key, code, detail }: SegmentFault) {
    super(code, ...knownDetail(detail));
    this.key = key;
  }
}
