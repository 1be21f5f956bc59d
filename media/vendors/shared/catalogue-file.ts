import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../base/project-root.js'
import type { CatalogueData } from '../vendor-module.js'

/** Returns a function that reads `media/vendors/catalogue/<module>.json` once. */
export function catalogueFile(module: string): () => CatalogueData {
  let data: CatalogueData | null = null
  return () => {
    data ??= JSON.parse(
      readFileSync(join(projectRoot, 'media', 'vendors', 'catalogue', `${module}.json`), 'utf8'),
    ) as CatalogueData
    return data
  }
}
