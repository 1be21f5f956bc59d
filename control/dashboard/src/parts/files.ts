import { csvText } from './csv-text.js'

/** Saves the body of a response as a file. */
export async function saveFile(response: Response, name: string): Promise<void> {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

interface SignedUpload {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Sends a file to a signed address and reports the part that is sent, from 0 to 1. Rejects when the service refuses it. */
export function sendFile(
  { url, headers }: SignedUpload,
  file: File,
  onPart: (part: number) => void = () => {},
): Promise<void> {
  // fetch reports no progress of a body that it sends.
  const request = new XMLHttpRequest()
  return new Promise((resolve, reject) => {
    request.upload.onprogress = ({ loaded, total }) => onPart(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(new Error('The upload was cut off.'))
    request.onload = () => {
      if (request.status < 300) resolve()
      else reject(new Error(messageOf(request.responseText) ?? `The upload was refused (${request.status}).`))
    }
    // The dashboard is served by the service itself: the policy of the page allows no other origin.
    request.open('PUT', new URL(url).pathname)
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.send(file)
  })
}

function messageOf(text: string): string | null {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message ?? null
  } catch {
    return null
  }
}

/** Content of a CSV file: a record of column names and values for each row. */
export type CsvRecords = readonly Readonly<Record<string, string>>[]

/** Reads a CSV file with a header row. Empty cells are left out. Throws with a text of `csv-parse` when it is not CSV. */
export async function readCsv(file: File): Promise<CsvRecords> {
  const { parse } = await import('csv-parse/browser/esm/sync')
  const { text, delimiter } = await csvText(file)
  const rows: Record<string, string>[] = parse(text, {
    delimiter,
    columns: (names: string[]) => names.map((name) => name.trim()),
    bom: true,
    skip_empty_lines: true,
    trim: true,
  })
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '')))
}
