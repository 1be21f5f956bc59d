import { Button, FileButton, Group, Progress, Stack, Text, Title } from '@mantine/core'
import { type DragEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import type { CreateKnowledgeUploadBody } from '../../../../clients/typescript/generated/types.js'
import { useFormat } from '../i18n.js'
import { useSession } from '../session.js'
import { sendFile } from './files.js'
import { List, useAction, useList } from './List.js'
import { Problem } from './Problem.js'
import { Rows } from './Rows.js'
import { State } from './Word.js'

type ContentType = CreateKnowledgeUploadBody['contentType']

/** By the end of the name: browsers do not know the type of Markdown. */
const TYPES: Readonly<Record<string, ContentType>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  html: 'text/html',
  htm: 'text/html',
  csv: 'text/csv',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
}
const LIVE_MS = 2_000
const BUSY = ['uploaded', 'processing']

interface Sending {
  readonly name: string
  /** From 0 to 1. */
  readonly part: number
}

/** The documents of a knowledge base, with a place to drop more. The service builds the base again after each. */
export function KnowledgeDocuments({ baseId }: { readonly baseId: string }) {
  const t = useTranslations('knowledge')
  const tCommon = useTranslations('common')
  const { api, canWrite } = useSession()
  const { count, size } = useFormat()
  const [sending, setSending] = useState<Sending | null>(null)
  const [refused, setRefused] = useState<readonly string[]>([])
  const [busy, setBusy] = useState(false)
  const documents = useList(
    ['knowledge', baseId, 'documents'],
    async (cursor) => {
      const page = await api.listKnowledgeDocuments({ id: baseId, query: { cursor } })
      setBusy(page.items.some(({ status }) => BUSY.includes(status)))
      return page
    },
    busy ? { refetchMs: LIVE_MS } : {},
  )
  const remove = useAction((documentId: string) => api.deleteKnowledgeDocument({ id: baseId, documentId }))
  const upload = useAction(async (files: readonly File[]) => {
    setRefused([])
    let sent = 0
    try {
      // One by one: the progress tells which file is on its way.
      for (const file of files) {
        const contentType = TYPES[file.name.split('.').pop()?.toLowerCase() ?? '']
        if (contentType === undefined) {
          setRefused((names) => [...names, file.name])
          continue
        }
        setSending({ name: file.name, part: 0 })
        const { upload: address } = await api.createKnowledgeUpload({
          id: baseId,
          body: { fileName: file.name, contentType, bytes: file.size },
        })
        await sendFile(address, file, (part) => setSending({ name: file.name, part }))
        sent++
      }
      if (sent > 0) await api.buildKnowledgeBase({ id: baseId })
    } finally {
      setSending(null)
    }
  })
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    upload.mutate([...event.dataTransfer.files])
  }
  return (
    <Stack component="section" aria-label={t('documents')}>
      <Title order={2} size="h4">
        {t('documents')}
      </Title>
      {canWrite && (
        // biome-ignore lint/a11y/noStaticElementInteractions: the button in it does the same for the keyboard
        <div className="drop" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
          <Group gap="sm">
            <Text size="sm">{t('drop')}</Text>
            <FileButton
              multiple
              accept={Object.keys(TYPES)
                .map((end) => `.${end}`)
                .join()}
              onChange={(files) => files.length > 0 && upload.mutate(files)}
            >
              {(props) => (
                <Button variant="default" loading={upload.isPending} {...props}>
                  {t('upload')}
                </Button>
              )}
            </FileButton>
          </Group>
          {sending !== null && (
            <div role="status">
              <Text size="sm">{sending.name}</Text>
              <Progress value={sending.part * 100} aria-label={sending.name} />
            </div>
          )}
        </div>
      )}
      {refused.map((name) => (
        <Text key={name} size="sm" role="alert">
          {t('wrongType', { name })}
        </Text>
      ))}
      {upload.error !== null && <Problem error={upload.error} />}
      {remove.error !== null && <Problem error={remove.error} />}
      <List query={documents} empty={t('noDocuments')}>
        {(items) => (
          <Rows
            label={t('documents')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              { title: tCommon('name'), cell: ({ name }) => name },
              {
                title: t('state'),
                cell: ({ status, error }) => (
                  <>
                    <State value={status} />
                    {error !== null && <Text size="xs">{error}</Text>}
                  </>
                ),
              },
              { title: t('size'), align: 'right', cell: ({ bytes }) => size(bytes) },
              {
                title: t('passages'),
                align: 'right',
                cell: ({ chunkCount }) => (chunkCount === null ? '–' : count(chunkCount)),
              },
              {
                title: '',
                align: 'right',
                cell: ({ id, name }) =>
                  canWrite && (
                    <Button
                      size="xs"
                      variant="default"
                      aria-label={t('removeDocument', { name })}
                      onClick={() => remove.mutate(id)}
                    >
                      {tCommon('delete')}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </List>
    </Stack>
  )
}
