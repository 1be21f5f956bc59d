/*
 * Text of models, vendors, bots and tools. It is cleaned once, where it enters, so that everything behind can store
 * and send it.
 */

/** Replaces NUL characters, which PostgreSQL refuses, and unpaired surrogates, which UTF-8 cannot express. */
export function cleanText(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd')
}

/** Parses JSON. Strings in it are clean; names of fields are not. Throws SyntaxError. */
export function parseForeignJson(text: string): unknown {
  // Text from UTF-8 needs an escape to express either. Messages with audio contain no escape at all.
  if (!text.includes('\\u') || !/\\u(0000|d[89a-f])/i.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_name, value: unknown) => (typeof value === 'string' ? cleanText(value) : value))
}
