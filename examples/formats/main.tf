# Two more schema languages: orders in Avro, of which only the paid ones are kept, and deliveries in Protobuf.
#
#   terraform apply -var bootstrap_servers=127.0.0.1:9092

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "bootstrap_servers" {
  description = "Address of the Kafka broker, host:port."
  type        = string
}

variable "orders_topic" {
  description = "Topic with one Avro order per message."
  type        = string
  default     = "orders"
}

variable "deliveries_topic" {
  description = "Topic with one Protobuf delivery per message."
  type        = string
  default     = "deliveries"
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

resource "featurestore_connection" "kafka" {
  name = "local-kafka"
  kafka = {
    bootstrap_servers = var.bootstrap_servers
    security_protocol = "PLAINTEXT"
  }
}

resource "featurestore_stream" "orders" {
  name = "main.shop.orders"

  source_config = {
    kafka_stream_config = {
      subscription_mode = { subscribe = var.orders_topic }
    }
  }

  connection_config = {
    uc_connection_name = featurestore_connection.kafka.name
  }

  schema_config = {
    direct_schemas = {
      payload_schema = { avro_schema = file("${path.module}/order.avsc") }
    }
  }

  # A record is kept where this is true: where it is false or null, no row comes of it.
  record_type_filter = "value.state = 'PAID' AND value.price > 0"

  ingestion_config = {
    ingestion_destination = {
      delta_table_name = "main.shop.paid_orders"
    }
  }
}

resource "featurestore_stream" "deliveries" {
  name = "main.shop.deliveries"

  source_config = {
    kafka_stream_config = {
      subscription_mode = { subscribe = var.deliveries_topic }
    }
  }

  connection_config = {
    uc_connection_name = featurestore_connection.kafka.name
  }

  schema_config = {
    direct_schemas = {
      payload_schema = {
        proto_schema = {
          schema_text  = file("${path.module}/delivery.proto")
          message_name = "shop.Delivery"
        }
      }
    }
  }

  ingestion_config = {
    ingestion_destination = {
      delta_table_name = "main.shop.deliveries_raw"
    }
  }

  # Where somebody lives stays out of the table.
  excluded_columns = ["value.address"]
}
