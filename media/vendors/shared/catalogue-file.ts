import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../base/project-root.js'
import type { CatalogueData } from '../vendor-module.js'

/** Returns a function that reads `catalogue.json` of a vendor's folder once. */
export function catalogueFile(folder: string): () => CatalogueData {
  let data: CatalogueData | null = null
  return () => {
    data ??= JSON.parse(
      readFileSync(join(projectRoot, 'media', 'vendors', folder, 'catalogue.json'), 'utf8'),
    ) as CatalogueData
    return data
  }
}
