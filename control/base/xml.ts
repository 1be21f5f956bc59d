import { Parser } from 'htmlparser2'

/** Elements within one another at most. */
const MAX_DEPTH = 32

/** A node in the making: its members, and its own text. */
interface Node {
  readonly name: string
  readonly members: Record<string, unknown>
  /** Index of the last character of its tag. */
  readonly tagEnd: number
  text: string
}

/**
 * Reads an XML document as one would write it in JSON: an element with elements is an object, any other one its text
 * without the space around it, and elements of the same name are an array. Attributes, comments and instructions are left
 * out; names keep their prefix. No entity but the five of XML and those of characters is known, and nothing is fetched.
 * Returns undefined for a text that is not well-formed or too deep.
 */
export function readXml(text: string): unknown {
  const open: Node[] = [{ name: '', members: Object.create(null), tagEnd: -1, text: '' }]
  let wrong = false
  const parser = new Parser(
    {
      onopentag(name) {
        wrong ||=
          open.length > MAX_DEPTH || (open.length === 1 && Object.keys(open[0]?.members ?? {}).length > 0)
        open.push({ name, members: Object.create(null), tagEnd: parser.endIndex, text: '' })
      },
      ontext(part) {
        const node = open.at(-1)
        if (node !== undefined) node.text += part
        wrong ||= open.length === 1 && part.replace('\uFEFF', '').trim() !== ''
      },
      onclosetag(name, implied) {
        const node = open.pop()
        const parent = open.at(-1)
        if (node === undefined || parent === undefined) {
          wrong = true
          return
        }
        // The parser closes an element that has no end tag by itself. `<a/>` needs none.
        const closed = !implied || (node.tagEnd === parser.endIndex && text[node.tagEnd - 1] === '/')
        wrong ||= !closed || node.name !== name
        const value = Object.keys(node.members).length > 0 ? { ...node.members } : node.text.trim()
        const before = parent.members[name]
        if (before === undefined) parent.members[name] = value
        else if (Array.isArray(before)) before.push(value)
        else parent.members[name] = [before, value]
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(text)
  const [root] = open
  if (wrong || root === undefined || Object.keys(root.members).length !== 1) return undefined
  return { ...root.members }
}
