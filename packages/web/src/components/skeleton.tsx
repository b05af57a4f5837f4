interface SkeletonProps {
  readonly lines?: number;
  readonly height?: string;
}

/** A placeholder for content that is loading, so that the page does not jump. */
export function Skeleton({ lines = 1, height = '1.1rem' }: SkeletonProps) {
  return (
    <div class="stack" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span
          key={line}
          class="skeleton"
          style={{ height, width: `${100 - ((line * 17) % 40)}%` }}
        />
      ))}
    </div>
  );
}

export function PanelSkeleton({ lines = 6 }: { readonly lines?: number }) {
  return (
    <div class="panel">
      <div class="panel-body">
        <Skeleton lines={lines} />
      </div>
    </div>
  );
}
