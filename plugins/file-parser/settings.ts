/** Settings of the plugin, and its row in the documents; loaded without the plugin. */
import { Type } from 'typebox'
import { bounded, pluginSettings, type ShippedPlugin } from '../../src/config/fields/plugin-settings.ts'
import { choiceField, closed, flag, line, listField, secret, url, usd, withDefault } from '../../src/config/fields/scalars.ts'

export const fileParser: ShippedPlugin = {
  settings: pluginSettings('Converts files of a request to text if the model does not accept files.', {
    enabled: Type.Optional(flag('False: off. If unset: acts if the first model does not accept files.')),
    pdf: Type.Optional(
      closed('How PDFs are read.', {
        engine: Type.Optional(
          choiceField(
            'If unset: `native` if the model accepts files, else the service in `ocr` if there is one, else the text in the file.',
            ['native', 'mistral-ocr', 'pdf-text', 'cloudflare-ai'],
          ),
        ),
      }),
    ),
    ocr: Type.Optional(
      closed('A service that reads scans and speaks the OCR API of Mistral.', {
        url: withDefault(url('Address in front of /v1/ocr.'), 'https://api.mistral.ai'),
        key: Type.Optional(secret('Key of the account.')),
        model: withDefault(line('Model.'), 'mistral-ocr-latest'),
        price: withDefault(usd('USD that a thousand pages cost the caller.'), '2.00'),
        max_pages: bounded('Most pages of one file. The hold covers this many pages for each file.', [1, 1000], 200),
      }),
    ),
    allow_private: Type.Optional(
      listField(
        'Hosts, addresses and ranges of your own network that may be fetched.',
        line('Such as wiki.corp, wiki.corp:8080, *.corp or 10.1.0.0/16.', 256),
      ),
    ),
  }),
  acts: 'by itself where the first model takes no files; else on request',
  does: '[Turns files into words](files.md#the-plugin-file-parser).',
  limits: '20 files of 20 MiB each; 120 s. Scans need an OCR service.',
}
