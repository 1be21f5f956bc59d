/** A longer line is no record. */
const MAX_LINE = 16 * 1024 * 1024
const LINE_END = 0x0a

/**
 * Splits UTF-8 into lines. Only a line feed ends a line, and the last line needs one, so that no byte of a file can
 * change without an effect. Throws when a line is too long.
 */
export async function* textLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk])
    let from = 0
    for (let end = rest.indexOf(LINE_END); end !== -1; end = rest.indexOf(LINE_END, from)) {
      yield rest.toString('utf8', from, end)
      from = end + 1
    }
    rest = rest.subarray(from)
    if (rest.length > MAX_LINE) throw new Error(`a line is longer than ${MAX_LINE} bytes`)
  }
  if (rest.length > 0) yield `${rest.toString('utf8')} (without a line end)`
}
