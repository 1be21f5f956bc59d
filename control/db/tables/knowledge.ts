/** A collection of documents that agents answer from. Both environments share it. */
export interface KnowledgeBaseRow {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  /** The last successful build, which answers questions. */
  readonly servingBuildId: string | null
  readonly latestBuildId: string | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface KnowledgeDocumentRow {
  readonly id: string
  readonly organizationId: string
  readonly knowledgeBaseId: string
  /** The upload that holds the bytes (`uploads`). */
  readonly uploadId: string
  readonly name: string
  readonly contentType: string
  readonly bytes: number
  /** `new` until a build begins with it. The upload says whether its bytes have arrived. */
  readonly status: 'new' | 'processing' | 'ready' | 'error'
  /** Sentence that says why the document cannot be used, with status `error` only. */
  readonly error: string | null
  /** Passages of the document in the last build. */
  readonly chunkCount: number | null
  /** Object with the extracted text. A document never changes, so it is extracted once. */
  readonly textKey: string | null
  readonly createdAt: number
}

export interface KnowledgeBuildRow {
  readonly id: string
  readonly organizationId: string
  readonly knowledgeBaseId: string
  readonly status: 'processing' | 'completed' | 'failed'
  readonly error: string | null
  readonly documents: number
  /** Documents whose text is extracted, or that have failed. */
  readonly documentsDone: number
  readonly chunkCount: number | null
  readonly compiledTokens: number | null
  /** The whole text of a build that is small enough for a prompt. */
  readonly inlineText: string | null
  /** The model whose vectors the index has. Null for words only. */
  readonly embeddingModel: string | null
  /** JSON array of sentences about what a completed build does without. */
  readonly warnings: string
  /** Tokens that the build took of the models. */
  readonly embeddingTokens: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly createdAt: number
  readonly finishedAt: number | null
}

/** Use of a knowledge base by an agent. The foreign key prevents the removal of a base that is in use. */
export interface KnowledgeUseRow {
  readonly knowledgeBaseId: string
  readonly agentId: string
  readonly inDraft: number
  readonly inPublished: number
}

/**
 * Result of a model for a passage: a vector or questions. The next builds use it as long as a passage has the same
 * text.
 */
export interface KnowledgeExtraRow {
  readonly knowledgeBaseId: string
  readonly kind: 'vector' | 'questions'
  /** Name of the model and of the settings that matter to the value. */
  readonly model: string
  /** SHA-256 of the text that the model was given, in hex. */
  readonly hash: string
  /** Vector: one byte a dimension in base64. Questions: a JSON array of texts. */
  readonly value: string
}

export interface KnowledgeTables {
  knowledgeBases: KnowledgeBaseRow
  knowledgeDocuments: KnowledgeDocumentRow
  knowledgeBuilds: KnowledgeBuildRow
  knowledgeUses: KnowledgeUseRow
  knowledgeExtras: KnowledgeExtraRow
}
