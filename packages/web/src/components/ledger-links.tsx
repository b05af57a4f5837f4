import { formatInteger, shorten } from '../base/format.ts';
import { addressName, programName } from '../ledger/address-names.ts';
import { pagePath } from '../state/page-path.ts';
import { CopyButton } from './copy-button.tsx';

interface AddressLinkProps {
  readonly dataset: string;
  readonly address: string;
  /** Whether to show the whole address, with a button to copy it. */
  readonly full?: boolean;
  /** Whether the address is known to be a program. */
  readonly isProgram?: boolean;
}

/** Shows a well-known address by its name, and any other by its first and last characters. Programs have their own pages. */
export function AddressLink({ dataset, address, full = false, isProgram }: AddressLinkProps) {
  const name = addressName(address);
  const hasProgram = isProgram ?? programName(address) !== undefined;
  const href = hasProgram ? pagePath.program(dataset, address) : pagePath.account(dataset, address);
  if (full) {
    return (
      <span>
        {name !== undefined && <strong>{name} </strong>}
        <a class="hash" href={href}>
          {address}
        </a>
        <CopyButton text={address} label="address" />
      </span>
    );
  }
  return (
    <a class={name === undefined ? 'hash' : ''} href={href} title={address}>
      {name ?? shorten(address)}
    </a>
  );
}

interface SignatureLinkProps {
  readonly dataset: string;
  readonly signature: string;
}

export function SignatureLink({ dataset, signature }: SignatureLinkProps) {
  return (
    <a class="hash" href={pagePath.transaction(dataset, signature)} title={signature}>
      {shorten(signature, 8)}
    </a>
  );
}

export function SlotLink({ dataset, slot }: { readonly dataset: string; readonly slot: number }) {
  return <a href={pagePath.block(dataset, slot)}>{formatInteger(slot)}</a>;
}
