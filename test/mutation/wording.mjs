/**
 * Parts of the code that only word a message: changing them changes no behavior that a test should fix. These are the
 * text of an `assert`, what is written to the log, and the descriptions in schemas.
 */
const logCalls = new Set(['debug', 'info', 'warn', 'error', 'log']);

export const wordingIgnorer = {
  shouldIgnore({ node, parent }) {
    if (isCall(node) && isLogCall(node.callee)) return 'a log line';
    if (!isCall(parent)) return isDescription(node) ? 'a description' : undefined;
    return parent.callee.name === 'assert' && parent.arguments[1] === node
      ? 'the text of an assert'
      : undefined;
  },
};

function isCall(node) {
  return node?.type === 'CallExpression' || node?.type === 'OptionalCallExpression';
}

function isLogCall(callee) {
  if (callee.type !== 'MemberExpression' && callee.type !== 'OptionalMemberExpression')
    return false;
  const target =
    callee.object.property?.name ?? callee.object.property?.id?.name ?? callee.object.name;
  return logCalls.has(callee.property.name) && /^(log|logger)$/.test(target ?? '');
}

function isDescription(node) {
  return node.type === 'ObjectProperty' && ['description', 'summary'].includes(node.key.name);
}
