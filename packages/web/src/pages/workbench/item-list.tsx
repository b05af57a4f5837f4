import { defaultFieldNames, RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import { PlusIcon } from '../../components/icons.tsx';
import { ItemEditor } from './item-editor.tsx';
import { itemsOf, type JsonObject, selectedFields, setFields, setItems } from './query-model.ts';

interface ItemListProps {
  readonly array: RecordArray;
  readonly query: JsonObject;
  readonly onChange: (query: JsonObject) => void;
}

const titles: Readonly<Record<RecordArray, string>> = {
  transactions: 'Transactions',
  instructions: 'Instructions',
  logs: 'Logs',
  balances: 'Native balances',
  tokenBalances: 'Token balances',
  rewards: 'Rewards',
};

/** The items of one kind. A record is sent if any of them selects it. */
export function ItemList({ array, query, onChange }: ItemListProps) {
  const items = itemsOf(query, array);
  const verb = items.length === 0 ? 'Select' : 'Add another of';
  const add = () => {
    const next = setItems(query, array, [...items, {}]);
    const kind = RECORD_ARRAYS[array];
    const isUnselected = selectedFields(next, kind)?.length === 0;
    // Without selected fields the records would be empty objects.
    onChange(isUnselected ? setFields(next, kind, defaultFieldNames(kind, 'ledger')) : next);
  };
  return (
    <div class="items">
      <div class="row spread">
        <span class={items.length === 0 ? 'muted' : 'items-title'}>
          {titles[array]}
          {items.length > 1 && <span class="muted small"> any of {items.length}</span>}
        </span>
        <button
          type="button"
          class="button compact"
          aria-label={`${verb} ${titles[array]}`}
          onClick={add}
        >
          <PlusIcon /> {items.length === 0 ? 'Select' : 'Add another'}
        </button>
      </div>
      {items.map((item, i) => (
        <ItemEditor
          // The index is the key, because items have no id.
          key={i}
          array={array}
          item={item}
          onChange={(next) => onChange(setItems(query, array, items.with(i, next)))}
          onRemove={() => onChange(setItems(query, array, items.toSpliced(i, 1)))}
        />
      ))}
    </div>
  );
}
