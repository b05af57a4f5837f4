import { isAddress } from '@sluice/client';
import type { ComponentChildren } from 'preact';
import { CopyButton } from './copy-button.tsx';
import { Notice } from './notice.tsx';

interface AddressPageProps {
  readonly address: string;
  readonly title: string;
  /** Links at the right of the title. */
  readonly actions: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page about one address, or a notice if the text is not an address. */
export function AddressPage({ address, title, actions, children }: AddressPageProps) {
  if (!isAddress(address)) {
    return (
      <div class="panel">
        <Notice title="This is not an address">
          <p class="hash">{address}</p>
          <p>An address is base58 of 32 bytes.</p>
        </Notice>
      </div>
    );
  }
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>{title}</h1>
          <p class="hash">
            {address}
            <CopyButton text={address} label="address" />
          </p>
        </div>
        <div class="row no-print">{actions}</div>
      </div>
      {children}
    </div>
  );
}
