/** Icons of 24 by 24 units in the colour of the text. Each is next to a text or has a label. */
function icon(path: string) {
  return function Icon() {
    return (
      <svg
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        aria-hidden="true"
      >
        <path d={path} stroke-linecap="round" stroke-linejoin="round" />
      </svg>
    );
  };
}

export const SunIcon = icon(
  'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M2 12h2M20 12h2M4.900 19.100l1.400-1.400M17.700 6.300l1.400-1.400',
);
export const MoonIcon = icon('M20 14.500A8 8 0 1 1 9.500 4a6.500 6.500 0 0 0 10.500 10.500');
export const CopyIcon = icon('M9 9h10v11H9zM5 15V4h10');
export const CheckIcon = icon('M5 13l4 4L19 7');
export const KeyIcon = icon('M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8M11 12l9-9M17 6l3 3');
export const CloseIcon = icon('M6 6l12 12M18 6L6 18');
export const ChevronIcon = icon('M9 6l6 6-6 6');
export const PlusIcon = icon('M12 5v14M5 12h14');

export function LogoIcon() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0b5cad" />
      <path d="M7 9v14M25 9v14" stroke="#fff" stroke-width="2.600" stroke-linecap="round" />
      <path
        d="M11 12c2.500-2 4.500-2 7 0s3 1.500 3 1.500M11 17c2.500-2 4.500-2 7 0s3 1.500 3 1.500M11 22c2.500-2 4.500-2 7 0s3 1.500 3 1.500"
        fill="none"
        stroke="#bfe0ff"
        stroke-width="2"
        stroke-linecap="round"
      />
    </svg>
  );
}
