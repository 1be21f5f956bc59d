import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateClient } from '../../clients/typescript/generate.js'
import { projectRoot } from '../../media/base/project-root.js'
import { operations } from '../app/operations.js'
import { apiFacts, factsText } from '../openapi/api-facts.js'
import { openApiDocument } from '../openapi/document.js'
import { WEBHOOKS } from '../openapi/webhook-events.js'
import { API_VERSION } from '../system/api.js'

/** Path of the committed API description. */
export const OPENAPI_FILE = join(projectRoot, 'docs', 'openapi.json')

/** Path of the committed facts of the last released API. `npm run openapi -- --release` writes it. */
export const RELEASED_FILE = join(projectRoot, 'docs', 'openapi-released.txt')

export function openApiText(): string {
  return `${JSON.stringify(openApiDocument({ version: API_VERSION, operations, webhooks: WEBHOOKS }), null, 2)}\n`
}

/** Returns the generated files of the TypeScript client by path. */
export function clientFiles(): ReadonlyMap<string, string> {
  const files = Object.entries(generateClient(JSON.parse(openApiText())))
  return new Map(
    files.map(([name, text]) => [join(projectRoot, 'clients', 'typescript', 'generated', name), text]),
  )
}

// As a program (npm run openapi) it writes the files. Its test imports it and writes nothing.
if (process.argv[1]?.endsWith('openapi-files.js')) {
  writeFileSync(OPENAPI_FILE, openApiText())
  for (const [path, text] of clientFiles()) writeFileSync(path, text)
  if (process.argv.includes('--release')) {
    writeFileSync(RELEASED_FILE, factsText(API_VERSION, apiFacts(JSON.parse(openApiText()))))
  }
}
