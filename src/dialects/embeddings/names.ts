/** Names that more than one file of this folder writes. */

export const CLIENT_ID = 'embeddings'
